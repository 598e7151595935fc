package ratelimit

import "github.com/coxswain-sidecar/coxswain/internal/lua"

// SealScript tells the text by which all sidecars seal grants, and keeps the
// one that is offered where there is none.
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
