package lua

import (
	"context"
	"strings"

	"github.com/redis/go-redis/v9"
)

// prepareScripts fixes what is loaded and how it is called.
func (r *Runner) prepareScripts() {
	r.shas = make(map[*Source]string, len(scripts))
	for _, s := range scripts {
		text, sha := s.plain()
		if r.clock != nil {
			text, sha = s.clocked()
		}
		r.texts = append(r.texts, text)
		r.shas[s] = sha
	}
	r.commands = strings.Join(commandsOf(strings.Join(r.texts, "\n")), " ")
}

// reload recovers from NOSCRIPT: of all callers that met it, one loads and the
// others wait. A caller that was sent before the last load only has to go again.
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
	n.of.tel.ScriptsReloaded(ctx)
	// Whoever flushed one master has flushed the others, or will.
	if n.of.ring != nil {
		for _, other := range n.of.ring.masters() {
			other.look()
		}
	}
	return nil
}

// ensureScripts loads unless the server has them all.
func (n *node) ensureScripts(ctx context.Context, c *redis.Client) error {
	shas := make([]string, 0, len(n.of.shas))
	for _, sha := range n.of.shas {
		shas = append(shas, sha)
	}
	missing := false
	have, err := c.ScriptExists(ctx, shas...).Result()
	for _, h := range have {
		missing = missing || !h
	}
	// Who may not ask may still load.
	if err == nil && !missing {
		return nil
	}
	return n.load(ctx, c)
}

// load sends every script in one round trip.
func (n *node) load(ctx context.Context, c *redis.Client) error {
	_, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, text := range n.of.texts {
			p.ScriptLoad(ctx, text)
		}
		return nil
	})
	if err == nil {
		n.loads.Add(1)
	}
	return err
}
