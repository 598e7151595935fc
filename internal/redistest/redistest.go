// Package redistest gives tests a real Redis: $COXSWAIN_TEST_REDIS, else a
// container, else a redis-server process of its own. It prints which one is used.
// $COXSWAIN_TEST_REDIS_MODE=container or process allows only that one.
//
// Its invariant: tests share servers by key prefix and never flush one that
// they did not start. Everything it starts listens on 127.0.0.1 only and ends with
// the test binary.
package redistest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"
)

// The environment variables.
const (
	// EnvURL is the redis:// address of a server to use instead of starting one.
	EnvURL = "COXSWAIN_TEST_REDIS"
	// EnvMode is container or process: only that one, or the tests fail.
	EnvMode = "COXSWAIN_TEST_REDIS_MODE"
	// EnvImage is the image of the container, redis:7-local if unset. It is never pulled.
	EnvImage = "COXSWAIN_TEST_REDIS_IMAGE"
)

// embedded is Embedded of internal/redis, which this package cannot import, since its tests use this package.
const embedded = "embedded"

// backend is a running server of the whole test binary.
type backend struct {
	url string
	// what it is, for people: "process redis://127.0.0.1:20000".
	what string
	stop func() error
}

// shared is the server that URL returns. The first call of URL starts it.
var shared struct {
	once sync.Once
	backend
	err error
}

// URL returns the shared server of this test binary, started on first use and
// ended by Main. If there is no Redis, it fails the test with an error that has the remedy.
func URL(t testing.TB) string {
	t.Helper()
	shared.once.Do(func() {
		shared.backend, shared.err = open(os.Getenv)
		if shared.err == nil {
			fmt.Fprintf(os.Stderr, "redistest: using %s\n", shared.what)
		}
	})
	if shared.err != nil {
		t.Fatalf("redistest: %v", shared.err)
	}
	t.Logf("redistest: using %s", shared.what)
	return shared.url
}

// open chooses a source by the environment and starts it.
func open(env func(string) string) (backend, error) {
	if url := env(EnvURL); url != "" {
		opt, err := redis.ParseURL(url)
		if err != nil {
			return backend{}, fmt.Errorf("$%s: %w", EnvURL, err)
		}
		return backend{url: url, what: "the server of $" + EnvURL + " at " + opt.Addr, stop: func() error { return nil }}, nil
	}
	image := env(EnvImage)
	if image == "" {
		image = "redis:7-local"
	}
	switch mode := env(EnvMode); mode {
	case "container":
		return startContainer(image)
	case "process":
		return startShared()
	case "":
		c, noContainer := startContainer(image)
		if noContainer == nil {
			return c, nil
		}
		p, err := startShared()
		if err != nil {
			return backend{}, errors.Join(err, noContainer)
		}
		return p, nil
	default:
		return backend{}, fmt.Errorf("$%s is %q: use container or process, or leave it unset", EnvMode, mode)
	}
}

// Prefix returns a key prefix that no other test uses, of lower-case letters and digits.
func Prefix(t testing.TB) string {
	t.Helper()
	var id [8]byte
	if _, err := rand.Read(id[:]); err != nil {
		t.Fatalf("redistest: prefix: %v", err)
	}
	return "t" + hex.EncodeToString(id[:])
}

// Client returns a plain client of the shared server, closed with the test. It
// is for looking at what is stored; the code under test has a client of its own.
func Client(t testing.TB) *redis.Client {
	t.Helper()
	return client(t, URL(t))
}

func client(t testing.TB, url string) *redis.Client {
	t.Helper()
	opt, err := redis.ParseURL(url)
	if err != nil {
		t.Fatalf("redistest: %v", err)
	}
	return clientOf(t, opt)
}

// stall is longer than a busy machine keeps a server or the test from running. By default go-redis ends a command after
// 3 s; a test that does not check the error would then read an empty value.
const stall = time.Minute

func clientOf(t testing.TB, opt *redis.Options) *redis.Client {
	opt.MaxRetries = -1
	opt.DialTimeout, opt.ReadTimeout, opt.WriteTimeout, opt.PoolTimeout = stall, stall, stall, stall
	c := redis.NewClient(opt)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// Stores runs a test on every kind of store, as subtests: on the shared server,
// and on an embedded store, whose URL makes lua.Open start one.
func Stores(t *testing.T, test func(t *testing.T, url string)) {
	t.Helper()
	t.Run("standalone", func(t *testing.T) { test(t, URL(t)) })
	t.Run("embedded", func(t *testing.T) { test(t, embedded) })
}

// Main runs the tests, ends what URL started, and checks for leaked goroutines.
// Use it in TestMain of every package whose tests use Redis. Options exclude leaks of
// other packages.
func Main(m *testing.M, options ...goleak.Option) {
	code := m.Run()
	stopTopologies()
	if shared.stop != nil {
		if err := shared.stop(); err != nil {
			fmt.Fprintf(os.Stderr, "redistest: %s: stop: %v\n", shared.what, err)
			code = max(code, 1)
		}
	}
	// After a failure leaks are expected, since the failed test may not have cleaned up.
	if code == 0 {
		if err := goleak.Find(options...); err != nil {
			fmt.Fprintf(os.Stderr, "redistest: %v\n", err)
			code = 1
		}
	}
	os.Exit(code)
}

// answers pings a server once.
func answers(ctx context.Context, url string) error {
	opt, err := redis.ParseURL(url)
	if err != nil {
		return err
	}
	opt.MaxRetries = -1
	opt.DialTimeout, opt.ReadTimeout = stall, stall
	c := redis.NewClient(opt)
	defer func() { _ = c.Close() }()
	return c.Ping(ctx).Err()
}

// Stored is a hash in Redis.
type Stored struct {
	Store *redis.Client
	Key   string
}

// Field returns the value of a field, empty if there is none.
func (s Stored) Field(name string) string {
	return s.Store.HGet(context.Background(), s.Key, name).Val()
}
