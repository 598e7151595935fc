package coordtest

import (
	"strings"

	"pgregory.net/rapid"

	"github.com/coxswain-sidecar/coxswain/internal/coord"
)

// LockKey returns the key of a lock's state, as package lock makes it.
func LockKey(k coord.Keys, name string) string { return k.Key(coord.Escaped(name), "lock", "") }

// LimitKey returns the key of a limit's state, as package ratelimit makes it.
func LimitKey(k coord.Keys, rule, key, part string) string {
	return k.Key(coord.Escaped(rule)+":"+coord.Escaped(key), "rl:", part)
}

// Nasty draws text of characters that could be mistaken for the marks in a key.
func Nasty(least int) *rapid.Generator[string] {
	return rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]string{
		"a", "b", ":", "{", "}", "%", "3A", "%3A", "7B", "v1", "lock", "rl", "idem", "\x00", "\n", "é", "\xc3", "\xa9", "\xef\xbf\xbd", "\xef", " ",
	}), least, 5), func(parts []string) string { return strings.Join(parts, "") })
}
