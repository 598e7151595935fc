package main

import (
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Site is what is crawled: some shops, behind one guard that knows its visitors
// by their User-Agent. It turns some of them away, and writes everything down.
type Site struct {
	// Blocked are answered 403 for BlockedFor from when the site opens.
	Blocked    map[string]bool
	BlockedFor time.Duration
	// Throttled are answered 429 each time they have made Patience requests, and
	// asked to keep away for RetryAfter, which is of whole seconds.
	Throttled  map[string]bool
	Patience   int
	RetryAfter time.Duration
	// Takes is the longest that an answer takes.
	Takes time.Duration

	// Enough is closed when Closing requests have been answered; 0 = never.
	Closing int
	Enough  chan struct{}

	opened time.Time

	mu     sync.Mutex // guards what follows
	visits []Visit
	made   map[string]int // by identity
}

// Open starts its clock.
func (s *Site) Open() {
	s.opened = time.Now()
	s.Enough = make(chan struct{})
	s.made = make(map[string]int)
}

// ServeHTTP answers a visitor.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v := Visit{Identity: r.UserAgent(), Shop: strings.Trim(r.URL.Path, "/"), Arrived: time.Since(s.opened), Status: http.StatusOK}
	time.Sleep(time.Duration(rand.Int64N(int64(s.Takes) + 1)))
	s.mu.Lock()
	s.made[v.Identity]++
	switch {
	case s.Blocked[v.Identity] && v.Arrived < s.BlockedFor:
		v.Status = http.StatusForbidden
	case s.Throttled[v.Identity] && s.made[v.Identity]%s.Patience == 0:
		v.Status, v.RetryAfter = http.StatusTooManyRequests, s.RetryAfter
		w.Header().Set("Retry-After", strconv.Itoa(int(s.RetryAfter.Seconds())))
	}
	// Before the visitor can know of it: its next request comes later.
	v.Left = time.Since(s.opened)
	s.visits = append(s.visits, v)
	if len(s.visits) == s.Closing {
		close(s.Enough)
	}
	s.mu.Unlock()
	w.WriteHeader(v.Status)
}

// Log is all that was written down.
func (s *Site) Log() []Visit {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Visit(nil), s.visits...)
}
