package coordtest

import "github.com/coxswain-sidecar/coxswain/client/api"

// Exact returns the match of one key.
func Exact(key string) api.Match { return api.Match{Exact: key} }

// Glob returns the match of the keys of a pattern.
func Glob(pattern string) api.Match { return api.Match{Glob: pattern} }

// Suffix returns the match of a domain and its subdomains.
func Suffix(domain string) api.Match { return api.Match{Suffix: domain} }
