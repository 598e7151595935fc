package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
)

// lead opens the site, fills the pool, runs the worker processes, and checks the
// site's log.
func (h *hub) lead(ctx context.Context, args []string, out io.Writer) error {
	if err := h.fill(ctx); err != nil {
		return err
	}
	site := h.newSite()
	url, shut, err := serve(ctx, site)
	if err != nil {
		return err
	}
	defer shut()
	fmt.Fprintf(out, "%d workers in %d processes, %d identities, each %d requests in any %v\n",
		h.workers, h.processes, h.identities, h.limit, h.rate().Period)
	watched := h.watch(ctx, out)
	sum, err := h.crowd(ctx, append(args, "-site", url), site.Enough)
	changes := watched()
	if err != nil {
		return err
	}
	h.show(site.Log(), out)
	fmt.Fprintf(out, "refusals: %v; permits lost: %d; breaker changes: %d\n", sum.Refused, sum.Lost, changes)
	return h.judge(site.Log(), out)
}

// newSite makes a site that blocks every seventh identity for a while, and
// throttles every fifth.
func (h *hub) newSite() *Site {
	s := &Site{
		Blocked: make(map[string]bool), BlockedFor: h.scaled(h.blockFor), Takes: h.takes,
		Throttled: make(map[string]bool), Patience: 25, RetryAfter: time.Second, Closing: h.requests,
	}
	for n := 1; n <= h.identities; n++ {
		switch {
		case n%7 == 0:
			s.Blocked[identity(n)] = true
		case n%5 == 0:
			s.Throttled[identity(n)] = true
		}
	}
	s.Open()
	return s
}

// fill creates the pool, and checks that each sidecar has the rule that the proof
// is about.
func (h *hub) fill(ctx context.Context) error {
	for i, socket := range h.sockets {
		c, err := client.Dial(ctx, client.Options{Socket: socket, Client: name})
		if err != nil {
			return err
		}
		err = h.checkRule(ctx, c)
		if err == nil && i == 0 {
			err = h.put(ctx, c)
		}
		_ = c.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

func (h *hub) checkRule(ctx context.Context, c *client.Client) error {
	rules, err := c.RatelimitRules(ctx)
	if err != nil {
		return err
	}
	r := h.rate()
	band := api.Band{Limit: int64(r.Refill), PeriodMS: r.Period.Milliseconds(), Burst: int64(r.Burst)}
	for _, rule := range rules.Rules {
		if rule.Rule.Name == name && slices.Equal(rule.Rule.Limits, []api.Band{band}) {
			return nil
		}
	}
	return fmt.Errorf("the sidecar has no rule %s of %+v: start it with the configuration that -print-config prints", name, band)
}

func (h *hub) put(ctx context.Context, c *client.Client) error {
	members, ids := make([]api.PoolMember, h.identities), make([]string, h.identities)
	for i := range members {
		ids[i] = identity(i + 1)
		members[i].ID = ids[i]
	}
	if _, err := client.Call(ctx, c, api.PoolRemove, api.PoolRemoveParams{Pool: h.pool, IDs: ids}); err != nil {
		return err
	}
	_, err := client.Call(ctx, c, api.PoolPut, api.PoolPutParams{Pool: h.pool, Members: members})
	return err
}

// serve opens a site on a free port.
func serve(ctx context.Context, site http.Handler) (url string, shut func(), err error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	s := &http.Server{Handler: site, ReadHeaderTimeout: 5 * time.Second}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = s.Serve(l) // it returns when the server is closed
	}()
	return "http://" + l.Addr().String(), func() { _ = s.Close(); <-served }, nil
}

// crowd runs the worker processes for the duration, or until enough is closed. When
// their standard input ends, which it also does if this process ends, they finish
// the requests under way and exit.
func (h *hub) crowd(ctx context.Context, args []string, enough <-chan struct{}) (tally, error) {
	sum := tally{Refused: make(map[string]int)}
	exe, err := os.Executable()
	if err != nil {
		return sum, err
	}
	late, cancel := context.WithTimeout(ctx, h.duration)
	defer cancel()
	go func() {
		select {
		case <-enough:
			cancel()
		case <-late.Done():
		}
	}()
	tallies, errs := make([]tally, h.processes), make([]error, h.processes)
	var all sync.WaitGroup
	for i := range h.processes {
		all.Go(func() {
			defer cancel() // a process that ends early ends all
			tallies[i], errs[i] = process(late, exe, append(slices.Clone(args), "-process", strconv.Itoa(i)))
		})
	}
	all.Wait()
	for _, t := range tallies {
		for reason, n := range t.Refused {
			sum.Refused[reason] += n
		}
		sum.Lost += t.Lost
	}
	return sum, errors.Join(errors.Join(errs...), ctx.Err())
}

// process runs one worker process until ctx ends, and returns its tally.
func process(ctx context.Context, exe string, args []string) (t tally, err error) {
	cmd := exec.Command(exe, args...) //nolint:gosec,noctx // this program, which exits when its standard input ends
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return t, err
	}
	if err := cmd.Start(); err != nil {
		return t, err
	}
	defer context.AfterFunc(ctx, func() { _ = in.Close() })()
	if err := cmd.Wait(); err != nil {
		return t, fmt.Errorf("%s: %w", strings.Join(args, " "), err)
	}
	return t, json.Unmarshal(out.Bytes(), &t)
}

// show prints the site's counts for each identity.
func (h *hub) show(visits []Visit, out io.Writer) {
	type seen struct{ all, blocked, throttled int }
	of := make(map[string]seen)
	for _, v := range visits {
		s := of[v.Identity]
		s.all++
		switch v.Status {
		case http.StatusForbidden:
			s.blocked++
		case http.StatusTooManyRequests:
			s.throttled++
		}
		of[v.Identity] = s
	}
	fmt.Fprintf(out, "%-12s %8s %8s %9s\n", "identity", "requests", "blocked", "throttled")
	for n := 1; n <= h.identities; n++ {
		s := of[identity(n)]
		fmt.Fprintf(out, "%-12s %8d %8d %9d\n", identity(n), s.all, s.blocked, s.throttled)
	}
}

// judge prints the proof, or what violates it.
func (h *hub) judge(visits []Visit, out io.Writer) error {
	if len(visits) == 0 {
		return errors.New("the site had no visitors: nothing is proved")
	}
	wrong := Prove(visits, h.rate())
	if len(wrong) == 0 {
		fmt.Fprintf(out, "proved by the site's log of %d requests: no identity was used twice at once, above its rate, or during a Retry-After\n", len(visits))
		return nil
	}
	for _, w := range wrong {
		fmt.Fprintln(out, w)
	}
	return fmt.Errorf("the site's log of %d requests shows %d violations", len(visits), len(wrong))
}
