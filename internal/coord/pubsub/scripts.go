package pubsub

import (
	"embed"

	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

//go:embed *.lua
var files embed.FS

// PublishScript sends a message to the subscribers of a channel. It is not idempotent: a run whose
// reply was lost is not repeated without a stored reply, so that no subscriber gets a message twice.
var PublishScript = lua.Define[PublishIn, PublishOut](files, lua.Source{Name: "pubsub_publish", StoresReply: true})

// PublishIn is one message.
type PublishIn struct {
	Route   string `lua:"key"` // whose slot says which node is asked; it is never written
	Channel string // in Redis
	Body    string
}

// PublishOut counts the receivers.
type PublishOut struct {
	Receivers int64 // connections that listen to the channel on this node; -1 = Redis denies the sidecar's user the channel
}
