package main_test

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client"
	main "github.com/coxswain-sidecar/coxswain/cmd/sidecar"
)

func TestNumbersInParametersKeepTheirTypeAndValue(t *testing.T) {
	t.Parallel()
	got, err := main.ReadParams([]string{`{"i": 9007199254740993, "n": -9223372036854775808, "f": 1.5, "e": 1e3, "m": {"i": 1, "l": [2, "3", null, true]}}`}, nil)
	require.NoError(t, err)
	require.Equal(t, map[string]any{
		"i": int64(9007199254740993), "n": int64(math.MinInt64), "f": 1.5, "e": 1000.0,
		"m": map[string]any{"i": int64(1), "l": []any{int64(2), "3", nil, true}},
	}, got)
}

func TestParametersComeFromTheLineOrFromStandardInputOrAreNone(t *testing.T) {
	t.Parallel()
	got, err := main.ReadParams(nil, strings.NewReader(`{"not":"read"}`))
	require.NoError(t, err)
	require.Empty(t, got)
	got, err = main.ReadParams([]string{"-"}, strings.NewReader("{\"name\":\"l\"}\n"))
	require.NoError(t, err)
	require.Equal(t, map[string]any{"name": "l"}, got)
}

func TestParametersThatAreNoObject(t *testing.T) {
	t.Parallel()
	const remedy = `; write one such as '{"key":"a"}'`
	for text, want := range map[string]string{
		"5":                           "the parameters are not a JSON object (number)" + remedy,
		"[]":                          "the parameters are not a JSON object (array)" + remedy,
		"null":                        "the parameters are not a JSON object (null)" + remedy,
		"":                            "the parameters are not a JSON object (EOF)" + remedy,
		"{key: 1}":                    "the parameters are not a JSON object (invalid character 'k' looking for beginning of object key string)" + remedy,
		"{} {}":                       "something follows the JSON object of the parameters; quote it as one argument",
		`{"a":{"b":[1e999]}}`:         "a: b: 1e999 is not a number that can be sent; write a smaller one",
		`{"a":18446744073709551616}`:  "a: 18446744073709551616 does not fit 64 bits; write a smaller number",
		`{"a":-18446744073709551616}`: "a: -18446744073709551616 does not fit 64 bits; write a smaller number",
	} {
		a := cli(t, "call", "--socket", "/none", "session.ping", text)
		require.Equal(t, main.Usage, a.code, text)
		require.Equal(t, want+"\n", a.err)
	}
}

func TestResultsArePrintedWithSortedKeysAndBytesAsBase64(t *testing.T) {
	t.Parallel()
	v := map[string]any{"b": []byte{0, 255}, "a": "<&>", "n": int64(1) << 53, "l": []any{}, "m": map[string]any{"y": uint64(math.MaxUint64), "x": nil}}
	var out bytes.Buffer
	require.NoError(t, main.PrintJSON(&out, v, main.JSON))
	require.Equal(t, `{"a":"<&>","b":"AP8=","l":[],"m":{"x":null,"y":18446744073709551615},"n":9007199254740992}`+"\n", out.String())
	out.Reset()
	require.NoError(t, main.PrintJSON(&out, map[string]any{"b": 1, "a": []any{2}}, main.Pretty))
	require.Equal(t, "{\n  \"a\": [\n    2\n  ],\n  \"b\": 1\n}\n", out.String())
	require.ErrorContains(t, main.PrintJSON(&out, math.NaN(), main.JSON), "print the result: ")
}

func TestACallAgainstASidecar(t *testing.T) {
	t.Parallel()
	s := serve(t, socketIn(t), []string{noGrace}, "--redis", "embedded")
	wait(t, s.socket)

	a := cliWith(t, `{"name":"l"}`, nil, "call", "--socket", s.socket, "lock.get", "-")
	require.Equal(t, answer{main.OK, "{\"held\":false}\n", ""}, a, "one line where the output is no terminal")
	a = cli(t, "call", "--socket", s.socket, "-o", "pretty", "lock.get", `{"name":"l"}`)
	require.Equal(t, answer{main.OK, "{\n  \"held\": false\n}\n", ""}, a)
	a = cli(t, "call", "--socket", s.socket, "-o", "pretty", "inspect.snapshot")
	require.Contains(t, a.out, "\"config\": [\n", "a configuration is read line by line")
	require.NotContains(t, a.out, `\n`)
	a = cli(t, "call", "--socket", s.socket, "-o", "json", "inspect.snapshot")
	require.Contains(t, a.out, `"config":"`, "for programs it is the text that came")
	a = cli(t, "call", "--socket", s.socket, "-o", "yaml", "lock.get", `{"name":"l"}`)
	require.Equal(t, answer{main.Usage, "", "--output yaml is unknown; write json or pretty\n" +
		"Usage: sidecar call METHOD [JSON|-] [flags]; more: sidecar call --help\n"}, a)

	a = cli(t, "call", "--socket", s.socket, "lock.get", `{"nam":"l"}`)
	require.Equal(t, main.Failed, a.code)
	require.Regexp(t, `^INVALID_ARGUMENT: .*nam.*name`, a.err)
	require.Equal(t, 1, strings.Count(a.err, "\n"))
	a = cli(t, "call", "--socket", s.socket, "ratelimit.acquire",
		`{"key":"a","cost":9007199254740993,"algorithm":"token_bucket","limits":[{"limit":1,"period_ms":1000}]}`)
	require.Equal(t, main.Failed, a.code)
	require.Contains(t, a.err, "9007199254740993", "not rounded on its way")

	a = cli(t, "call", "--socket", s.socket, "--timeout", "0s", "session.ping")
	require.NotEqual(t, main.OK, a.code)
}

func TestTheExitCodeHasTheAnswerBehindAFlag(t *testing.T) {
	t.Parallel()
	s := serve(t, socketIn(t), []string{noGrace}, "--redis", "embedded")
	wait(t, s.socket)
	const once = `"algorithm":"token_bucket","limits":[{"limit":1,"period_ms":3600000}]`
	require.Equal(t, true, call(t, s.socket, "lock.acquire", `{"name":"held","bind":"ttl"}`)["acquired"])
	call(t, s.socket, "breaker.force", `{"name":"open","state":"open"}`)
	call(t, s.socket, "stream.publish", `{"stream":"users","body":"","fields":{"error":"of a user","allowed":"false"}}`)
	for _, c := range []struct {
		method, params string
		code           int
	}{
		{"ratelimit.acquire", `{"key":"a",` + once + `}`, main.OK},
		{"ratelimit.acquire", `{"key":"a",` + once + `}`, main.Refused},
		{"ratelimit.acquire_any", `{"keys":["a","b"],` + once + `}`, main.OK},
		{"ratelimit.acquire_any", `{"keys":["a","b"],` + once + `}`, main.Refused},
		{"ratelimit.acquire_many", `{"items":[{"key":"c",` + once + `},{"key":"d",` + once + `}]}`, main.OK},
		{"ratelimit.acquire_many", `{"items":[{"key":"e",` + once + `},{"key":"d",` + once + `}]}`, main.Refused},
		{"ratelimit.acquire_many", `{"items":[{"key":"d",` + once + `},{"key":"f","rule":"none"}]}`, main.Failed},
		{"breaker.allow", `{"name":"shut"}`, main.OK},
		{"breaker.allow", `{"name":"open"}`, main.Refused},
		{"lock.acquire", `{"name":"free"}`, main.OK},
		{"lock.acquire", `{"name":"held"}`, main.Busy},
		{"lock.renew", `{"name":"held","token":"another"}`, main.Busy},
		{"lock.get", `{"name":"held"}`, main.OK},
		{"queue.dequeue", `{"queue":"empty"}`, main.Busy},
		{"seen.reserve", `{"set":"s","key":"k","bind":"ttl"}`, main.OK},
		{"seen.reserve", `{"set":"s","key":"k"}`, main.Busy},
		{"pool.acquire", `{"pool":"empty"}`, main.Busy},
		{"stream.read", `{"stream":"users"}`, main.OK},
		{"stream.publish_many", `{"stream":"users","messages":[{"body":"","dedupe_id":""},{"body":""}]}`, main.OK},
		{"lock.acquire", `{"name":""}`, main.Failed},
		{"session.ping", `{}`, main.OK},
	} {
		a := cli(t, "call", "--socket", s.socket, "--exit-code", c.method, c.params)
		require.Equal(t, c.code, a.code, "%s %s: %s%s", c.method, c.params, a.out, a.err)
		require.Equal(t, c.method != "lock.acquire" || c.code != main.Failed, a.out != "", "the answer is printed: %s %s", c.method, c.params)
	}
	require.Equal(t, main.OK, cli(t, "call", "--socket", s.socket, "lock.acquire", `{"name":"held"}`).code)
}

// --timeout is the time of the call itself: to wait is what it was asked to do.
func TestACallMayWaitLongerThanItsTimeout(t *testing.T) {
	t.Parallel()
	s := ready(t)
	c := dial(t, s.socket, "test")
	lk, err := c.LockAcquire(t.Context(), "l", client.LockOptions{})
	require.NoError(t, err)
	answered := make(chan answer, 1)
	go func() {
		answered <- cli(t, "call", "--socket", s.socket, "-o", "json", "--timeout", "1ms", "lock.acquire", `{"name":"l","wait_ms":30000}`)
	}()
	require.Eventually(t, func() bool {
		r, err := c.LockGet(t.Context(), "l")
		return err == nil && r.Waiting == 1
	}, limit, 10*time.Millisecond)
	require.NoError(t, lk.Release(t.Context()))
	a := <-answered
	require.Equal(t, main.OK, a.code, a.err)
	require.Contains(t, a.out, `"acquired":true`)
}

// Who tries it out without Redis must not take the answers for those of a limit.
func TestAnAnswerWithoutRedisIsNotTakenForOneOfRedis(t *testing.T) {
	t.Parallel()
	s := serve(t, socketIn(t), []string{noGrace}, "--redis", "redis://127.0.0.1:1")
	s.logs(t, `"msg":"serving"`)
	s.logs(t, `"msg":"while redis does not answer, limits and breakers allow calls with degraded set`)
	const limits = `"key":"a","algorithm":"token_bucket","limits":[{"limit":3,"period_ms":5000}]`
	for method, params := range map[string]string{
		"ratelimit.acquire": "{" + limits + "}", "ratelimit.acquire_many": `{"items":[{` + limits + `}]}`, "breaker.allow": `{"name":"a"}`,
	} {
		a := cli(t, "call", "--socket", s.socket, method, params)
		require.Equal(t, main.OK, a.code, a.err)
		require.Contains(t, a.out, `"degraded":true`)
		require.True(t, strings.HasPrefix(a.err, "note: degraded: Redis does not answer"), "%s: %s", method, a.err)
		require.Equal(t, 1, strings.Count(a.err, "\n"))
	}
	require.Empty(t, cli(t, "call", "--socket", s.socket, "health.get").err)

	with := ready(t)
	require.Empty(t, cli(t, "call", "--socket", with.socket, "ratelimit.acquire", "{"+limits+"}").err)
}
