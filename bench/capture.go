package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

// evalsha is one EVALSHA as the sidecar sends it, with the key's text replaced.
type evalsha struct {
	SHA  string
	Keys []string // each holds keyMark once
	Args []any
}

const keyMark = "__rand_int__"

func (c evalsha) eval(ctx context.Context, db goredis.Cmdable, key string) error {
	keys := make([]string, len(c.Keys))
	for i, k := range c.Keys {
		keys[i] = strings.Replace(k, keyMark, key, 1)
	}
	return db.EvalSha(ctx, c.SHA, keys, c.Args...).Err()
}

// capture reads with MONITOR the EVALSHA of one call of the sidecar, so that the
// peers run the same script with the same arguments.
func (s *side) capture() (evalsha, error) {
	conn, err := net.Dial("tcp", s.lab.redisAddr)
	if err != nil {
		return evalsha{}, err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		return evalsha{}, err
	}
	if _, err := io.WriteString(conn, "MONITOR\r\n"); err != nil {
		return evalsha{}, err
	}
	lines := bufio.NewReader(conn)
	if _, err := lines.ReadString('\n'); err != nil {
		return evalsha{}, err
	}
	// With duration 0 the load ends after the first reply: one call.
	if _, err := rawLoad(s.usual.socket, 1, 1, 0, shared(keyCount), rawAcquire(ruleName)); err != nil {
		return evalsha{}, fmt.Errorf("ratelimit.acquire: %w", err)
	}
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return evalsha{}, fmt.Errorf("monitor: no EVALSHA seen: %w", err)
		}
		// The sidecar also runs a script that looks for changed rules, which is skipped.
		if c, ok := captured(monitored(line)); ok {
			return c, nil
		}
	}
}

// captured reads an EVALSHA, and reports whether the workload's keys are in all of its key names.
func captured(words []string) (evalsha, bool) {
	if len(words) < 4 || !strings.EqualFold(words[0], "evalsha") {
		return evalsha{}, false
	}
	n, err := strconv.Atoi(words[2])
	if err != nil || n < 1 || len(words) < 3+n {
		return evalsha{}, false
	}
	c, keys := evalsha{SHA: words[1]}, table(keyCount)
	for _, name := range words[3 : 3+n] {
		i := slices.IndexFunc(keys, func(k string) bool { return strings.Contains(name, k) })
		if i < 0 {
			return evalsha{}, false
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
