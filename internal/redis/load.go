package redis

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// reload loads the scripts after NOSCRIPT. If several callers got it, one loads and the
// others wait. loads is the count of loads before the caller's try: if it has grown
// since, the scripts are loaded already.
func (n *node) reload(ctx context.Context, loads uint64) error {
	select {
	case n.loading <- struct{}{}:
		defer func() { <-n.loading }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if n.loads.Load() != loads {
		return nil
	}
	if err := n.load(ctx, n.client); err != nil {
		return err
	}
	// If the scripts of one master were flushed, those of the others probably were or will be.
	if n.of.ring != nil {
		for _, other := range n.of.ring.masters() {
			other.look()
		}
	}
	return nil
}

// ensureScripts loads the scripts if the server lacks one.
func (n *node) ensureScripts(ctx context.Context, c *redis.Client) error {
	missing := false
	have, err := c.ScriptExists(ctx, n.of.scripts.SHAs...).Result()
	for _, h := range have {
		missing = missing || !h
	}
	// A user that may not run SCRIPT EXISTS may still run SCRIPT LOAD.
	if err == nil && !missing {
		n.had.Store(true)
		return nil
	}
	return n.load(ctx, c)
}

// load sends all scripts in one round trip. It counts a reload if the server had them
// before, whether a call or a probe found that they are gone.
func (n *node) load(ctx context.Context, c *redis.Client) error {
	_, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, text := range n.of.scripts.Texts {
			p.ScriptLoad(ctx, text)
		}
		return nil
	})
	if err == nil {
		n.loads.Add(1)
		if n.had.Swap(true) {
			n.of.tel.ScriptsReloaded(ctx)
		}
	}
	return err
}
