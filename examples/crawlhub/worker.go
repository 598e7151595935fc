package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"

	"github.com/coxswain-sidecar/coxswain/client"
)

// tally is what a worker process prints at its end, as JSON.
type tally struct {
	Refused map[string]int `json:"refused"` // by reason
	Lost    int            `json:"lost"`    // permits that ended before their work
}

// crew has the workers of one process.
type crew struct {
	*hub
	c    *client.Client
	http *http.Client

	mu  sync.Mutex // guards what follows
	sum tally
}

// work crawls until in ends, finishes the requests under way, and prints the tally.
func (h *hub) work(ctx context.Context, in io.Reader, out io.Writer) error {
	c, err := client.Dial(ctx, client.Options{Socket: h.sockets[h.process%len(h.sockets)], Client: name, Instance: strconv.Itoa(h.process)})
	if err != nil {
		return err
	}
	defer c.Close()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		_, _ = io.Copy(io.Discard, in)
		cancel(nil)
	}()
	cw := &crew{
		hub: h, c: c, sum: tally{Refused: make(map[string]int)},
		http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: h.identities}},
	}
	defer cw.http.CloseIdleConnections()
	var all sync.WaitGroup
	for n := h.process; n < h.workers; n += h.processes {
		all.Go(func() {
			for ctx.Err() == nil {
				if err := cw.visit(ctx, "shop"+strconv.Itoa(n%h.shops)); err != nil {
					cancel(err)
				}
			}
		})
	}
	all.Wait()
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return json.NewEncoder(out).Encode(cw.sum)
}

// refused counts a permit that was not granted.
func (w *crew) refused(reason string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sum.Refused[reason]++
}

// lost counts a permit that ended before its work.
func (w *crew) lost() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sum.Lost++
}
