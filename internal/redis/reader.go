package redis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// ErrNoGroup: the stream or its group of consumers is gone.
var ErrNoGroup = errors.New("redis has no such stream or group")

// MostBlock is the longest that one read of a stream may wait.
const MostBlock = time.Second

// maxRedirects bounds how often one read follows a slot to another node.
const maxRedirects = 3

// Entry is an entry of a stream.
type Entry struct {
	ID string
	// Message is its field m. Only is its field g: the only group that it is for; empty =
	// all groups.
	Message, Only string
}

// Reader reads a stream for groups of consumers. It has a connection of its own, since a
// read that waits would occupy a connection of the pool. The first read makes the
// connection, and the next one after a failure makes it again. One goroutine at a time may
// read.
type Reader struct {
	of     *Store
	key    string
	ctx    context.Context // ends with Close
	cancel context.CancelFunc

	mu      sync.Mutex // guards what follows
	client  *redis.Client
	node    *node           // of the client
	conn    net.Conn        // of the client, once it is made
	reading context.Context // of the read that is under way
}

// Reader makes a reader of the stream at key. Close ends it.
func (s *Store) Reader(key string) *Reader {
	r := &Reader{of: s, key: key, reading: context.Background()}
	r.ctx, r.cancel = context.WithCancel(s.ctx)
	return r
}

// Close ends the connection and the read that is under way, whose reply is then lost:
// entries that Redis gave to that read stay pending. Close may be called by any goroutine,
// and more than once.
func (r *Reader) Close() {
	r.cancel()
	r.mu.Lock()
	client := r.client
	r.client, r.node = nil, nil
	r.mu.Unlock()
	r.hangUp()
	if client != nil {
		_ = client.Close() // its only connection is closed
	}
}

// hangUp ends the connection.
func (r *Reader) hangUp() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.conn != nil {
		_ = r.conn.Close()
		r.conn = nil
	}
}

// Read returns at most count entries that the group was not given before, and gives them to
// the consumer. It waits up to block, at most MostBlock, for the first of them; with a block
// of 0 it does not wait. Finding no entries is not an error. If the server sends nothing, the
// read ends after block plus the command timeout.
//
// Errors: ErrNoGroup; ErrUnavailable (no entry was given), ErrMaybeExecuted (the reply was
// lost; entries may have been given to the consumer, and are pending), both with the
// *Trouble; the error of ctx. Any other error is an error reply that no Trouble describes,
// such as WRONGTYPE.
func (r *Reader) Read(ctx context.Context, group, consumer string, count int, block time.Duration) ([]Entry, error) {
	args := []any{"xreadgroup", "group", group, consumer, "count", count}
	return r.run(ctx, args, block, ">")
}

// Await reports whether the stream has an entry after the given one, and waits up to block,
// at most MostBlock, for it. It gives no entry to a consumer. Errors are those of Read.
func (r *Reader) Await(ctx context.Context, after string, block time.Duration) (bool, error) {
	entries, err := r.run(ctx, []any{"xread", "count", 1}, block, after)
	return len(entries) > 0, err
}

// run sends a read of the entries after one, and follows redirections.
func (r *Reader) run(ctx context.Context, args []any, block time.Duration, after string) ([]Entry, error) {
	block = min(block, MostBlock)
	if block > 0 {
		args = append(args, "block", max(block.Milliseconds(), 1))
	}
	args = append(args, "streams", r.key, after)

	limited, cancel := context.WithTimeout(ctx, block+r.of.connector.opt.CommandTimeout)
	defer cancel()
	r.mu.Lock()
	r.reading = limited
	r.mu.Unlock()
	// A read of a connection does not notice that its context was cancelled.
	defer context.AfterFunc(limited, r.hangUp)()

	var n *node
	asks := false
	for redirects := 0; ; redirects++ {
		if !asks {
			var err error
			if n, err = r.of.route(limited, r.key, false); err != nil {
				return nil, classify(err).AsError(ctx, false)
			}
		}
		entries, err := r.send(limited, n, asks, args)
		f := n.judge(err)
		if f.Verdict == Answered {
			return entries, nil
		}
		ring := n.of.ring
		asks = false
		if ring != nil && redirects < maxRedirects {
			switch f.Why {
			case whyMoved:
				ring.redirected(f, n.addr)
				continue
			case whyAsk:
				if to := ring.redirected(f, n.addr); to != nil {
					n, asks = to, true
					continue
				}
			}
		}
		return nil, r.failed(ctx, n, f)
	}
}

// failed is what Read returns after a try that was not answered.
func (r *Reader) failed(ctx context.Context, n *node, f Failure) error {
	var reply redis.Error
	text := ""
	if errors.As(f.Err, &reply) {
		text = reply.Error()
	}
	switch {
	case r.ctx.Err() != nil:
		return fmt.Errorf("%w: %w", ErrMaybeExecuted, newTrouble("closed", errClosed))
	// If a stream is deleted while a read waits, Redis replies with one or the other,
	// depending on its version.
	case strings.HasPrefix(text, "NOGROUP"), strings.HasPrefix(text, "UNBLOCKED the stream"):
		return fmt.Errorf("%w: %w", ErrNoGroup, reply)
	case strings.HasPrefix(text, "UNBLOCKED"): // the master has become a replica
		f = Failure{Verdict: NotRun, Why: "readonly", Err: reply}
	case f.Verdict == Ended && ctx.Err() == nil:
		f.Verdict = NotRun // the reader's own time limit ended it, not the caller's context
	}
	if ctx.Err() == nil && f.suspect() && (!f.Refused() || !n.condition.Load().refusing()) {
		n.look()
	}
	return f.AsError(ctx, false)
}

// send sends the command once, after ASKING if asks is set, and reads its reply.
func (r *Reader) send(ctx context.Context, n *node, asks bool, args []any) ([]Entry, error) {
	client, err := r.at(n)
	if err != nil {
		return nil, err
	}
	cmd := redis.NewXStreamSliceCmd(ctx, args...)
	if asks {
		_, err = client.Pipelined(ctx, func(p redis.Pipeliner) error {
			_ = p.Process(ctx, redis.NewCmd(ctx, "asking")) // both are only queued
			return p.Process(ctx, cmd)
		})
		var before *unsent
		if !errors.As(err, &before) { // go-redis does not set an unsent error on the commands
			err = cmd.Err()
		}
	} else {
		err = client.Process(ctx, cmd)
	}
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var entries []Entry
	for _, stream := range cmd.Val() {
		for _, m := range stream.Messages {
			e := Entry{ID: m.ID}
			e.Message, _ = m.Values["m"].(string)
			e.Only, _ = m.Values["g"].(string)
			entries = append(entries, e)
		}
	}
	return entries, nil
}

// at returns the client for a node, which has one connection.
func (r *Reader) at(n *node) (*redis.Client, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ctx.Err() != nil {
		return nil, &unsent{"down", errClosed}
	}
	if r.node == n {
		return r.client, nil
	}
	if r.client != nil {
		_ = r.client.Close() // to the node that had the key before
	}
	opt := r.of.connector.options(n.addr)
	opt.PoolSize, opt.MaxActiveConns, opt.MinIdleConns = 1, 1, 0
	opt.ReadTimeout += MostBlock
	opt.Dialer = func(ctx context.Context, _, _ string) (net.Conn, error) { return r.dial(ctx, n), nil }
	r.client, r.node = redis.NewClient(&opt), n
	return r.client, nil
}

// dial makes the connection, which an outage of the node closes too. It needs no record of
// what may have run: it carries no scripts, and entries of a lost reply are pending.
func (r *Reader) dial(ctx context.Context, n *node) net.Conn {
	if c := n.condition.Load(); c.down() {
		return deadConn{&unsent{"down", c.trouble}}
	}
	r.mu.Lock()
	reading := r.reading
	r.mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(n.ctx, cancel)()
	defer context.AfterFunc(r.ctx, cancel)()
	defer context.AfterFunc(reading, cancel)()
	c := n.conns.track(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	// The read that dials may have ended, and called hangUp, before the connection was made.
	if err := errors.Join(r.ctx.Err(), reading.Err()); err != nil {
		_ = c.Close()
		return deadConn{&unsent{"dial", err}}
	}
	r.conn = c
	return c
}
