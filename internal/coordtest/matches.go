package coordtest

import "github.com/coxswain-sidecar/coxswain/client/api"

// Exact matches one key.
func Exact(key string) api.Match { return api.Match{Exact: key} }

// Glob matches the keys of a pattern.
func Glob(pattern string) api.Match { return api.Match{Glob: pattern} }

// Suffix matches a domain and those under it.
func Suffix(domain string) api.Match { return api.Match{Suffix: domain} }
