package lua_test

// Tests that visit every script need every noun.
import (
	_ "github.com/coxswain-sidecar/coxswain/internal/coord/breaker"
	_ "github.com/coxswain-sidecar/coxswain/internal/coord/fleet"
	_ "github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	_ "github.com/coxswain-sidecar/coxswain/internal/coord/lock"
	_ "github.com/coxswain-sidecar/coxswain/internal/coord/pool"
	_ "github.com/coxswain-sidecar/coxswain/internal/coord/pubsub"
	_ "github.com/coxswain-sidecar/coxswain/internal/coord/queue"
	_ "github.com/coxswain-sidecar/coxswain/internal/coord/ratelimit"
	_ "github.com/coxswain-sidecar/coxswain/internal/coord/seen"
	_ "github.com/coxswain-sidecar/coxswain/internal/coord/semaphore"
	_ "github.com/coxswain-sidecar/coxswain/internal/coord/stream"
)
