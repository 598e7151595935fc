package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"
)

// Modes of this program when it runs as a child of itself, so that their CPU
// time is their own.
const (
	modeEcho = "echo"
	modeLoop = "loop"
)

// serveEcho answers bytes with the same bytes: the least that any server on
// such a socket does.
func serveEcho(socket string) error {
	l, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer c.Close()
			buf := make([]byte, 1<<16)
			for {
				n, err := c.Read(buf)
				if err != nil {
					return
				}
				if _, err := c.Write(buf[:n]); err != nil {
					return
				}
			}
		}()
	}
}

// command is one EVALSHA as the sidecar sends it, with the key's text replaced.
type command struct {
	SHA  string
	Keys []string // each holds keyMark once
	Args []any
}

const keyMark = "__rand_int__"

func (c command) eval(ctx context.Context, db redis.Cmdable, key string) error {
	keys := make([]string, len(c.Keys))
	for i, k := range c.Keys {
		keys[i] = strings.Replace(k, keyMark, key, 1)
	}
	return db.EvalSha(ctx, c.SHA, keys, c.Args...).Err()
}

// capture watches Redis while one call goes through the sidecar, so that the
// peers run the very same script with the very same arguments.
func (l *lab) capture() (command, error) {
	conn, err := net.Dial("tcp", l.redisAddr)
	if err != nil {
		return command{}, err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return command{}, err
	}
	if _, err := io.WriteString(conn, "MONITOR\r\n"); err != nil {
		return command{}, err
	}
	lines := bufio.NewReader(conn)
	if _, err := lines.ReadString('\n'); err != nil {
		return command{}, err
	}
	// The loop stops as soon as the first reply is there: one call.
	if _, err := rawLoad(l.socket, 1, 1, 0, acquireRequest); err != nil {
		return command{}, fmt.Errorf("ratelimit.acquire: %w", err)
	}
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return command{}, fmt.Errorf("monitor: no EVALSHA seen: %w", err)
		}
		// The sidecar looks for rules now and then, by a script of its own.
		if c, ok := captured(monitored(line)); ok {
			return c, nil
		}
	}
}

// captured reads an EVALSHA whose keys are all of the workload.
func captured(words []string) (command, bool) {
	if len(words) < 4 || !strings.EqualFold(words[0], "evalsha") {
		return command{}, false
	}
	n, err := strconv.Atoi(words[2])
	if err != nil || n < 1 || len(words) < 3+n {
		return command{}, false
	}
	c := command{SHA: words[1]}
	for _, name := range words[3 : 3+n] {
		i := slices.IndexFunc(keys, func(k string) bool { return strings.Contains(name, k) })
		if i < 0 {
			return command{}, false
		}
		c.Keys = append(c.Keys, strings.Replace(name, keys[i], keyMark, 1))
	}
	for _, a := range words[3+n:] {
		c.Args = append(c.Args, a)
	}
	return c, true
}

// monitored reads the quoted words of a MONITOR line, which Redis escapes as Go does.
func monitored(line string) []string {
	var words []string
	for {
		i := strings.IndexByte(line, '"')
		if i < 0 {
			return words
		}
		q, err := strconv.QuotedPrefix(line[i:])
		if err != nil {
			return words
		}
		w, err := strconv.Unquote(q)
		if err != nil {
			return words
		}
		words = append(words, w)
		line = line[i+len(q):]
	}
}

// redisRate is go-redis/redis_rate in this process.
func (l *lab) redisRate(ctx context.Context) func(key string) error {
	limiter := redis_rate.NewLimiter(l.db)
	limit := redis_rate.PerSecond(1_000_000)
	return func(key string) error {
		_, err := limiter.Allow(ctx, key, limit)
		return err
	}
}

// redisBenchmark is Redis's own limit: redis-benchmark running the same script
// on the same keys, 16 commands in a pipeline, for about d.
func (l *lab) redisBenchmark(ctx context.Context, c command, d time.Duration) (float64, error) {
	_, port, err := net.SplitHostPort(l.redisAddr)
	if err != nil {
		return 0, err
	}
	calls := max(20_000, int(100_000*d.Seconds()))
	args := []string{
		"-h", "127.0.0.1", "-p", port, "-P", "16", "-c", "50", "-n", strconv.Itoa(calls), "-r", strconv.Itoa(keyCount), "--csv",
		"EVALSHA", c.SHA, strconv.Itoa(len(c.Keys)),
	}
	args = append(args, c.Keys...) // each gets a number of its own; the gates are empty, whichever they are
	for _, a := range c.Args {
		args = append(args, fmt.Sprint(a))
	}
	out, err := exec.CommandContext(ctx, "redis-benchmark", args...).Output()
	if err != nil {
		return 0, fmt.Errorf("redis-benchmark: %w", err)
	}
	rows, err := csv.NewReader(bytes.NewReader(out)).ReadAll()
	if err != nil || len(rows) == 0 {
		return 0, fmt.Errorf("redis-benchmark printed %q: %w", out, err)
	}
	return strconv.ParseFloat(rows[len(rows)-1][1], 64)
}

// loopResult is what the loop child prints.
type loopResult struct {
	Calls int
	CPU   time.Duration
}

// loopInput is what it reads.
type loopInput struct {
	Addr     string
	Command  command
	Callers  int
	Duration time.Duration
}

// loop runs the child of P7 and returns its CPU time per call.
func (l *lab) loop(ctx context.Context, c command, callers int, d time.Duration) (time.Duration, error) {
	in, err := json.Marshal(loopInput{l.redisAddr, c, callers, d})
	if err != nil {
		return 0, err
	}
	cmd := exec.CommandContext(ctx, os.Args[0], modeLoop)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(in), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return 0, fmt.Errorf("loop: %w", err)
	}
	var r loopResult
	if err := json.Unmarshal(out, &r); err != nil {
		return 0, fmt.Errorf("loop: %w", err)
	}
	return r.CPU / time.Duration(max(r.Calls, 1)), nil
}

// runLoop is the bare loop of P7: callers over go-redis's AutoPipeliner.
func runLoop(ctx context.Context, r io.Reader, w io.Writer) error {
	var in loopInput
	if err := json.NewDecoder(r).Decode(&in); err != nil {
		return err
	}
	db := redis.NewClient(&redis.Options{Addr: in.Addr, PoolSize: 50, MinIdleConns: 10, MaxRetries: -1})
	defer db.Close()
	pipe, err := db.AutoPipeline()
	if err != nil {
		return err
	}
	defer pipe.Close()
	before, err := ownCPU()
	if err != nil {
		return err
	}
	got, err := closedLoop(in.Callers, in.Duration, func(key string) error { return in.Command.eval(ctx, pipe, key) })
	if err != nil {
		return err
	}
	after, err := ownCPU()
	if err != nil {
		return err
	}
	return json.NewEncoder(w).Encode(loopResult{got.calls, after - before})
}

func ownCPU() (time.Duration, error) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, err
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
}
