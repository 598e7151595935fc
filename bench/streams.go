package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
)

const (
	groupName = "bench"
	// prefetch is how many messages a consumer may have without having acknowledged them; with
	// go-redis it is the COUNT of its reads.
	prefetch = 16
	// startTime is how long the first message may take. The time of a load begins with that message.
	startTime = 30 * time.Second
)

// streamBody is the body of each message.
var streamBody = []byte(strings.Repeat("0123456789", 10))

// streamsMade counts streams, so that each run of a load has a stream of its own, and a sidecar's
// state of a group of an earlier run does not affect it.
var streamsMade atomic.Int64

func newStream() string { return fmt.Sprint("bench-", streamsMade.Add(1)) }

// backlog is how many messages are published before consumers are measured. Messages that are
// left do not count; if all are consumed, the time ends with the last one.
func backlog(d time.Duration) int { return max(2_000, int(50_000*d.Seconds())) }

// clientPublish publishes through package client.
func clientPublish(ctx context.Context, c *client.Client) func(string) error {
	p := api.StreamPublishParams{Stream: newStream(), Body: streamBody}
	return func(string) error {
		r, err := c.StreamPublish(ctx, p)
		if err == nil && !r.Published {
			err = errors.New("the message was not published")
		}
		return err
	}
}

// rawPublish publishes with prepared frames.
var rawPublish = exchange{{func(to []byte, id byte, _ string, _ []byte) []byte {
	return appendCall(to, id, "stream.publish", [2]string{"stream", "bench"}, [2]string{"body", string(streamBody)})
}, isTrue("published")}}

// redisPublish publishes with XADD by go-redis in this process.
func redisPublish(callers int) runner {
	return func(ctx context.Context, s *side, d time.Duration) (sample, error) {
		args := &goredis.XAddArgs{Stream: newStream(), Values: []any{"m", streamBody}}
		return s.lab.metered(ctx, nil, func() (tally, error) {
			return closedLoop(callers, d, shared(keyCount), func(string) error { return s.lab.db.XAdd(ctx, args).Err() })
		})
	}
}

// consumption is one run of a load of consumers, on a stream that has n messages.
type consumption struct {
	socket, stream string
	consumers, n   int
	d              time.Duration
}

// conns is how many connections the consumers share, share how many consumers each connection has.
func (c consumption) conns() int { return min(c.consumers, connections) }
func (c consumption) share() int { return c.consumers / c.conns() }

// consumed is a load of consumers of the sidecar. The backlog is published before the measurement,
// and Redis has to count as many acknowledged messages as the consumers.
func consumed(consumers int, consume func(context.Context, consumption) (tally, error)) runner {
	return func(ctx context.Context, s *side, d time.Duration) (sample, error) {
		run := consumption{s.usual.socket, newStream(), consumers, backlog(d), d}
		c, err := dialed(ctx, run.socket, connections)
		if err != nil {
			return sample{}, err
		}
		defer c.Close()
		if err := publishAll(ctx, c, run.stream, run.n); err != nil {
			return sample{}, fmt.Errorf("publish the backlog: %w", err)
		}
		var got tally
		r, err := s.lab.metered(ctx, s.usual, func() (_ tally, err error) {
			got, err = consume(ctx, run)
			return got, err
		})
		if err != nil {
			return r, err
		}
		stats, err := c.StreamStats(ctx, api.StreamStatsParams{Stream: run.stream, Group: groupName})
		if err != nil || len(stats.Groups) != 1 {
			return r, fmt.Errorf("read the group's counts: %d groups, %w", len(stats.Groups), err)
		}
		g := stats.Groups[0]
		return r, agree(got.calls, int(stats.Length-g.Lag-g.Pending))
	}
}

// agree returns an error unless consumers and Redis counted the same number of acknowledged messages, above 0.
func agree(counted, acked int) error {
	if counted != acked || counted == 0 {
		return fmt.Errorf("the consumers acknowledged %d messages, and Redis counts %d", counted, acked)
	}
	return nil
}

// publishAll publishes n messages, many in a call.
func publishAll(ctx context.Context, c *client.Client, stream string, n int) error {
	many := make([]api.StreamNewMessage, 200)
	for i := range many {
		many[i].Body = streamBody
	}
	for n > 0 {
		results, err := c.StreamPublishMany(ctx, api.StreamPublishManyParams{Stream: stream, Messages: many[:min(n, len(many))]})
		if err != nil {
			return err
		}
		for _, one := range results {
			if !one.Published {
				return fmt.Errorf("a message was not published: %v", one.Error)
			}
		}
		n -= len(results)
	}
	return nil
}

// clientConsume consumes through package client: one StreamSubscribe a connection, which runs
// as many functions at once as there are consumers.
func clientConsume(ctx context.Context, run consumption) (tally, error) {
	var clients []*client.Client
	defer func() {
		for _, c := range clients {
			_ = c.Close() // all messages are acknowledged or given back
		}
	}()
	for range run.conns() {
		c, err := dialed(ctx, run.socket, 1)
		if err != nil {
			return tally{}, err
		}
		clients = append(clients, c)
	}
	during, end := context.WithTimeout(ctx, run.d+startTime)
	defer end()
	var (
		all   sync.WaitGroup
		first sync.Once // starts the measured time
		start time.Time
		done  atomic.Int64
		last  atomic.Int64 // when the last function began, as the time since start
		errs  = make(chan error, len(clients))
	)
	for _, c := range clients {
		all.Go(func() {
			o := client.StreamOptions{Concurrency: run.share(), Prefetch: run.share() * prefetch}
			err := c.StreamSubscribe(during, run.stream, groupName, o, func(context.Context, api.StreamMessage) error {
				first.Do(func() {
					start = time.Now()
					time.AfterFunc(run.d, end)
				})
				last.Store(int64(time.Since(start)))
				if int(done.Add(1)) == run.n {
					end()
				}
				return nil
			})
			if during.Err() == nil { // it returned before the end, so it failed
				errs <- err
				end()
			}
		})
	}
	all.Wait()
	close(errs)
	return tally{calls: int(done.Load()), took: time.Duration(last.Load())}, <-errs
}

// redisConsume consumes with XREADGROUP, and an XACK for each message, by go-redis in this process.
func redisConsume(consumers int) runner {
	return func(ctx context.Context, s *side, d time.Duration) (sample, error) {
		db, stream, n := s.lab.db, newStream(), backlog(d)
		for added := 0; added < n; {
			_, err := db.Pipelined(ctx, func(p goredis.Pipeliner) error {
				for range min(1_000, n-added) {
					p.XAdd(ctx, &goredis.XAddArgs{Stream: stream, Values: []any{"m", streamBody}})
					added++
				}
				return nil
			})
			if err != nil {
				return sample{}, err
			}
		}
		if err := db.XGroupCreate(ctx, stream, groupName, "0").Err(); err != nil {
			return sample{}, err
		}
		var got tally
		r, err := s.lab.metered(ctx, nil, func() (_ tally, err error) {
			got, err = consumeByRedis(ctx, db, stream, consumers, d)
			return got, err
		})
		if err != nil {
			return r, err
		}
		groups, err := db.XInfoGroups(ctx, stream).Result()
		if err != nil || len(groups) != 1 {
			return r, fmt.Errorf("read the group's counts: %d groups, %w", len(groups), err)
		}
		return r, agree(got.calls, int(groups[0].EntriesRead-groups[0].Pending))
	}
}

func consumeByRedis(ctx context.Context, db *goredis.Client, stream string, consumers int, d time.Duration) (tally, error) {
	var (
		all  sync.WaitGroup
		done atomic.Int64
		errs = make(chan error, consumers)
	)
	start := time.Now()
	end := start.Add(d)
	for i := range consumers {
		all.Go(func() {
			args := &goredis.XReadGroupArgs{
				Group: groupName, Consumer: fmt.Sprint(i), Streams: []string{stream, ">"}, Count: prefetch, Block: -1,
			}
			for time.Now().Before(end) {
				n, err := readAndAcknowledge(ctx, db, args)
				done.Add(int64(n))
				if errors.Is(err, goredis.Nil) {
					return // all messages are consumed
				}
				if err != nil {
					errs <- fmt.Errorf("consumer %d: %w", i, err)
					return
				}
			}
		})
	}
	all.Wait()
	took := time.Since(start)
	close(errs)
	return tally{calls: int(done.Load()), took: took}, <-errs
}

// readAndAcknowledge reads messages, acknowledges each by itself, and returns how many it acknowledged.
func readAndAcknowledge(ctx context.Context, db *goredis.Client, args *goredis.XReadGroupArgs) (n int, err error) {
	streams, err := db.XReadGroup(ctx, args).Result()
	if err != nil {
		return 0, err
	}
	for _, m := range streams[0].Messages {
		if err := db.XAck(ctx, args.Streams[0], args.Group, m.ID).Err(); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}
