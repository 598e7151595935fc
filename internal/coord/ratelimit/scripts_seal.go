package ratelimit

import "github.com/coxswain-sidecar/coxswain/internal/lua"

// SealScript returns the text with which all sidecars seal grants. If there is none, it keeps
// the one that is offered.
var SealScript = lua.Define[SealIn, string](files, lua.Source{
	Name:       "ratelimit_seal",
	Returns:    []string{"seal"},
	Idempotent: true,
})

// SealIn offers a text.
type SealIn struct {
	Seal    string `lua:"key"`
	Offered string
}
