package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

// lab has the processes that all sidecars under test and their peers share. They listen on
// loopback; this program starts and ends them.
type lab struct {
	dir        string
	redis      *child
	redisAddr  string
	securePort string // of the same Redis over TLS
	cert       string
	db         *goredis.Client
	echo       *server
	collector  *httptest.Server // accepts what sidecars export and drops it
	profiler   *profiler        // nil unless profiles are asked for
	image      string           // the name of the image to measure
}

// server is a process under test that answers on a socket.
type server struct {
	*child
	socket string
	debug  string // the address that serves its profiles, empty for none
	// elsewhere: its Redis is not that of the lab.
	elsewhere bool
}

// newLab starts Redis and the echo server in dir. The caller closes what it returns, also
// after an error.
func newLab(ctx context.Context, dir string) (*lab, error) {
	in := func(name string) string { return filepath.Join(dir, name) }
	l := &lab{dir: dir, cert: in("cert.pem")}
	l.collector = httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	port, err := freePort()
	if err != nil {
		return l, err
	}
	if l.securePort, err = freePort(); err != nil {
		return l, err
	}
	key := in("key.pem")
	if err := writeCertificate(l.cert, key); err != nil {
		return l, fmt.Errorf("certificate: %w", err)
	}
	l.redisAddr = "127.0.0.1:" + port
	l.redis, err = startRedis(dir, port, "--tls-port", l.securePort, "--tls-cert-file", l.cert, "--tls-key-file", key,
		"--tls-ca-cert-file", l.cert, "--tls-auth-clients", "no")
	if err != nil {
		return l, err
	}
	l.db = newDB(l.redisAddr)
	if err := until(ctx, func() error { return l.db.Ping(ctx).Err() }); err != nil {
		return l, fmt.Errorf("redis-server: %w", err)
	}
	echo, err := start(nil, os.Args[0], modeEcho, in("e.sock"))
	if err != nil {
		return l, err
	}
	l.echo = &server{child: echo, socket: in("e.sock")}
	return l, until(ctx, func() error {
		c, err := net.Dial("unix", l.echo.socket)
		if err == nil {
			err = c.Close()
		}
		return err
	})
}

// startRedis starts a Redis without persistence.
func startRedis(dir, port string, args ...string) (*child, error) {
	return start(nil, "redis-server", append([]string{
		"--bind", "127.0.0.1", "--port", port, "--dir", dir,
		"--save", "", "--appendonly", "no", "--loglevel", "warning",
	}, args...)...)
}

// newDB makes the connection pool of a peer; all peers have the same options.
func newDB(addr string) *goredis.Client {
	return goredis.NewClient(&goredis.Options{Addr: addr, PoolSize: 50, MinIdleConns: 10, MaxRetries: -1})
}

func (l *lab) close() {
	l.collector.Close()
	if l.db != nil {
		_ = l.db.Close() // no command is under way
	}
	if l.echo != nil {
		l.echo.stop()
	}
	if l.redis != nil {
		l.redis.stop()
	}
}

// redisCPU returns the user and system time that Redis has used so far, by INFO.
func (l *lab) redisCPU(ctx context.Context) (time.Duration, error) {
	text, err := l.db.Info(ctx, "cpu").Result()
	if err != nil {
		return 0, err
	}
	var sum float64
	found := 0
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
		name, number, _ := strings.Cut(lines.Text(), ":")
		if name != "used_cpu_user" && name != "used_cpu_sys" {
			continue
		}
		seconds, err := strconv.ParseFloat(number, 64)
		if err != nil {
			return 0, fmt.Errorf("INFO cpu: %w", err)
		}
		sum += seconds
		found++
	}
	if found != 2 {
		return 0, fmt.Errorf("INFO cpu lacks used_cpu_user or used_cpu_sys: %q", text)
	}
	return time.Duration(sum * float64(time.Second)), nil
}

// metered runs a load and adds the CPU that Redis and the server under test used meanwhile, per
// call. The server is nil if a peer runs in this process.
func (l *lab) metered(ctx context.Context, under *server, run func() (tally, error)) (s sample, err error) {
	var before, after [2]time.Duration
	read := func(into *[2]time.Duration) (err error) {
		if under != nil {
			if into[0], err = under.cpu(); err != nil {
				return err
			}
		}
		if under == nil || !under.elsewhere {
			into[1], err = l.redisCPU(ctx)
		}
		return err
	}
	if err := read(&before); err != nil {
		return sample{}, err
	}
	end, err := l.profiler.begin(ctx, l, under)
	if err != nil {
		return sample{}, err
	}
	got, err := run()
	if err := end(); err != nil {
		return sample{}, err
	}
	if err != nil {
		return sample{}, err
	}
	if err := read(&after); err != nil {
		return sample{}, err
	}
	s, _ = plain(got, nil)
	calls := time.Duration(max(got.calls, 1))
	s.cpu, s.redis = (after[0]-before[0])/calls, (after[1]-before[1])/calls
	return s, nil
}

// until repeats try until it succeeds, for at most 30 seconds.
func until(ctx context.Context, try func() error) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not ready within 30 s: %w", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, err
}
