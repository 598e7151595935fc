package redis

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// Exchange sends each of the tries once: one pipeline for each node that has some of
// the keys, concurrently. It sets Reply or Failure of each. It sets Again for those that
// failed with NOSCRIPT or MOVED, after it has loaded the scripts or corrected the slot.
//
// It ignores turns and replicas. If ctx is cancelled it still waits for the replies of
// a pipeline, within the command timeout.
func (s *Store) Exchange(ctx context.Context, tries []*Try) {
	groups := map[*node][]*Try{}
	for _, t := range tries {
		t.Reply, t.Again = nil, false
		if err := s.way(ctx, t); err != nil {
			t.Sent, t.Failure = time.Now(), classify(err)
			continue
		}
		groups[t.node] = append(groups[t.node], t)
	}
	if len(groups) == 1 {
		for n, group := range groups {
			n.exchange(ctx, group)
		}
		return
	}
	var wg sync.WaitGroup
	for n, group := range groups {
		wg.Go(func() { n.exchange(ctx, group) })
	}
	wg.Wait()
}

// way is route for a try that is not under way yet.
func (s *Store) way(ctx context.Context, t *Try) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	if t.node, err = s.route(ctx, t.key(), false); err != nil {
		return err
	}
	if bar := t.node.bars(t.Runs); bar != nil {
		return &unsent{"down", bar}
	}
	return nil
}

// exchange sends tries to one node.
func (n *node) exchange(ctx context.Context, tries []*Try) {
	sent, loads := time.Now(), n.loads.Load()
	replies, whole := n.exec(ctx, tries)
	worst := whole
	var unloaded []*Try
	for i, t := range tries {
		f := whole
		if f.Verdict == Answered {
			f = n.judge(replies[i].read(replies[i].Err()))
		}
		t.Tries++
		t.Sent, t.Failure = sent, f
		if f.Verdict == Answered {
			t.Reply = replies[i].Val()
			continue
		}
		worst = f
		switch {
		case f.Why == whyNoScript:
			unloaded = append(unloaded, t)
		case f.Why == whyMoved && n.of.ring != nil:
			n.of.ring.redirected(f, n.addr)
			t.Again = true
		}
	}
	n.of.tel.Script(ctx, tries[0].Script, worst.outcome(), time.Since(sent))
	if worst.suspect() && ctx.Err() == nil && (!worst.Refused() || !n.condition.Load().refusing()) {
		n.look()
	}
	if len(unloaded) > 0 && n.reload(ctx, loads) == nil {
		for _, t := range unloaded {
			t.Again = true
		}
	}
}

// exec writes one pipeline and reads its replies. A Failure that is not zero applies to all
// tries: none of them was written.
func (n *node) exec(ctx context.Context, tries []*Try) ([]sha1Call, Failure) {
	n.running.Add(1)
	defer n.running.Add(-1)
	replies := make([]sha1Call, len(tries))
	p := n.client.Pipeline()
	for i, t := range tries {
		replies[i] = sha1Call{redis.NewCmd(ctx, t.Args...)}
		_ = p.Process(ctx, replies[i]) // only queued
	}
	_, err := p.Exec(ctx)
	// go-redis does not set the error of a refused handshake on the commands.
	var before *unsent
	if errors.As(err, &before) {
		return nil, classify(err)
	}
	return replies, Failure{}
}
