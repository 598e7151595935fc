package main

import (
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Site is the crawled site: some shops, and one log. It identifies its visitors by
// their User-Agent, refuses some of them, and logs all requests.
type Site struct {
	// Blocked are answered 403 for BlockedFor from when the site opens.
	Blocked    map[string]bool
	BlockedFor time.Duration
	// Throttled are answered 429 each time they have made Patience requests, with
	// a Retry-After of RetryAfter, which is in whole seconds.
	Throttled  map[string]bool
	Patience   int
	RetryAfter time.Duration
	// Takes is the longest time that an answer takes.
	Takes time.Duration

	// Enough is closed when Closing requests have been answered; 0 = never.
	Closing int
	Enough  chan struct{}

	opened time.Time

	mu     sync.Mutex // guards what follows
	visits []Visit
	made   map[string]int // by identity
}

// Open starts the site's clock.
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
	// Before the visitor gets the answer, so that its next request arrives later.
	v.Left = time.Since(s.opened)
	s.visits = append(s.visits, v)
	if len(s.visits) == s.Closing {
		close(s.Enough)
	}
	s.mu.Unlock()
	w.WriteHeader(v.Status)
}

// Log returns all requests so far.
func (s *Site) Log() []Visit {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Visit(nil), s.visits...)
}
