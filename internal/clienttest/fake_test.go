package clienttest_test

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/client/clienttest"
)

// m is a map on the wire.
type m = map[string]any

// asking is a list of calls to one sidecar, by two clients, with its answers.
type asking struct {
	t       *testing.T
	a, b    *client.Client
	answers []answer
	events  map[*client.Client]chan client.Event
}

// answer is the answer to one call.
type answer struct {
	call   string
	result m
	code   api.Code // of the error; empty = none
}

// ask calls a method and keeps the answer.
func (x *asking) ask(c *client.Client, method string, params m) m {
	x.t.Helper()
	return x.end(x.begin(c, method, params))
}

// begin starts a call; end keeps its answer.
func (x *asking) begin(c *client.Client, method string, params m) <-chan answer {
	x.t.Helper()
	done := make(chan answer, 1)
	got := answer{call: fmt.Sprintf("%s calls %s %v", x.who(c), method, shown(params))}
	go func() {
		err := c.CallRaw(x.t.Context(), method, params, &got.result)
		var e *api.Error
		if errors.As(err, &e) {
			got.code, got.result = e.Code, nil
		} else if err != nil {
			got.code = api.Code("not an answer: " + err.Error())
		}
		done <- got
	}()
	return done
}

func (x *asking) end(call <-chan answer) m {
	got := <-call
	x.answers = append(x.answers, got)
	return got.result
}

// list keeps all pages of a list as one answer, sorted by name, because sidecars may split pages differently.
func (x *asking) list(c *client.Client, method string, params m, items string) {
	x.t.Helper()
	all := []any{}
	for params = maps.Clone(params); ; {
		got := <-x.begin(c, method, params)
		require.Empty(x.t, got.code, got.call)
		all = append(all, got.result[items].([]any)...)
		cursor, more := got.result["cursor"]
		if !more {
			break
		}
		params["cursor"] = cursor
	}
	slices.SortFunc(all, func(a, b any) int { return strings.Compare(named(a.(m)), named(b.(m))) })
	x.answers = append(x.answers, answer{call: x.who(c) + " lists " + method, result: m{items: all}})
}

// named returns the name of an item of a list.
func named(item m) string {
	for _, key := range []string{"name", "pool", "queue", "stream"} {
		if name, ok := item[key].(string); ok {
			return name
		}
	}
	return ""
}

func (x *asking) who(c *client.Client) string {
	if c == x.b {
		return "b"
	}
	return "a"
}

// event keeps the next notification to a client.
func (x *asking) event(c *client.Client) m {
	x.t.Helper()
	select {
	case e := <-x.events[c]:
		x.answers = append(x.answers, answer{call: x.who(c) + " is told " + e.Method, result: e.Params})
		return e.Params
	case <-time.After(patience):
		require.Fail(x.t, "no notification came")
		return nil
	}
}

// until repeats a call until the answer has a value. The answers are not kept.
func (x *asking) until(method string, params m, key string, want any) {
	x.t.Helper()
	require.Eventually(x.t, func() bool {
		var r m
		if err := x.a.CallRaw(x.t.Context(), method, params, &r); err != nil {
			return false
		}
		got, ok := r[key]
		return fmt.Sprint(got) == fmt.Sprint(want) || !ok && want == false
	}, patience, time.Millisecond, "%s %v: %s %v", method, params, key, want)
}

// shown returns params without the values that each sidecar generates.
func shown(params m) m {
	params = maps.Clone(params)
	for key := range params {
		if secret(key) {
			params[key] = "..."
		}
	}
	return params
}

// secret reports whether each sidecar generates the values of a key itself.
func secret(key string) bool {
	return slices.Contains([]string{"token", "lease", "fence", "grant", "probe", "subscription", "session", "cursor", "_request_id"}, key)
}

// The fake sidecar of client/clienttest answers as a real one does, on Redis.
func TestTheFakeAnswersAsASidecarDoes(t *testing.T) {
	t.Parallel()
	for name, ask := range scenarios {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fake := clienttest.NewSidecar()
			t.Cleanup(fake.Close)
			var all [2][]answer
			for i, socket := range []string{live(t), fake.Socket()} {
				all[i] = asked(t, socket, ask)
			}
			want, faked := all[0], all[1]
			require.NotEmpty(t, want)
			require.Len(t, faked, len(want))
			var d differences
			for i := range want {
				d.call = want[i].call
				if d.compare("error", string(want[i].code), string(faked[i].code)); want[i].code == faked[i].code {
					d.compare("", want[i].result, faked[i].result)
				}
			}
			require.Empty(t, d.found, "what differs:\n%s", strings.Join(d.found, "\n"))
		})
	}
}

// Each method that the fake models is called by a scenario.
func TestAllThatTheFakeHasIsCompared(t *testing.T) {
	t.Parallel()
	compared := make(map[string]bool)
	for _, ask := range scenarios {
		fake := clienttest.NewSidecar()
		t.Cleanup(fake.Close)
		asked(t, fake.Socket(), ask)
		for _, c := range fake.Calls() {
			compared[c.Method] = true
		}
	}
	fake := clienttest.NewSidecar()
	t.Cleanup(fake.Close)
	for _, method := range api.Methods() {
		if strings.HasPrefix(method.Name, "session.") || strings.HasPrefix(method.Name, "rpc.") {
			continue // they are about the sidecar itself
		}
		err := fake.Client().CallRaw(t.Context(), method.Name, m{}, nil)
		if !errors.Is(err, api.MethodNotFound) && !compared[method.Name] {
			t.Errorf("the fake has a model of %s, which no scenario asks", method.Name)
		}
	}
}

// asked returns the answers of one sidecar.
func asked(t *testing.T, socket string, ask func(*asking)) []answer {
	t.Helper()
	x := &asking{t: t, events: make(map[*client.Client]chan client.Event)}
	one := func(name string) *client.Client {
		events := make(chan client.Event, 16)
		c := dial(t, socket, client.Options{Client: name, Instance: "1", OnEvent: func(e client.Event) { events <- e }})
		x.events[c] = events
		return c
	}
	x.a, x.b = one("a"), one("b")
	ask(x)
	return x.answers
}

// differences collects the differences between answers. Times may differ by the delays of a slow machine; values
// that each sidecar generates must be present in both answers or in neither.
type differences struct {
	call  string // the call whose answers are compared
	found []string
}

func (d *differences) unless(same bool, key string, want, got any) {
	if !same {
		d.found = append(d.found, fmt.Sprintf("%s:\n\t%s: a sidecar answers %v, the fake %v", d.call, key, want, got))
	}
}

func (d *differences) compare(key string, want, got any) {
	last := key[strings.LastIndex(key, ".")+1:]
	switch want := want.(type) {
	case m:
		got, _ := got.(m)
		want, got = withoutEmpty(want), withoutEmpty(got)
		keys, gotKeys := slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got))
		d.unless(slices.Equal(keys, gotKeys), key, want, got)
		for _, k := range keys {
			if other, ok := got[k]; ok {
				d.compare(key+"."+k, want[k], other)
			}
		}
	case []any:
		got, _ := got.([]any)
		d.unless(len(got) == len(want), key, want, got)
		for i := range min(len(want), len(got)) {
			d.compare(fmt.Sprintf("%s[%d]", key, i), want[i], got[i])
		}
	case int64:
		got, _ := got.(int64)
		same := want == got
		switch {
		case slices.Contains([]string{"oldest_ms", "oldest_pending_ms", "idle_ms"}, last): // time that has passed since the test began
			same = true
		case last == "revision", strings.HasSuffix(last, "_at_ms"):
			same = want > 0 == (got > 0)
		case strings.HasSuffix(last, "_ms") && want > 0:
			same = got > 0 && math.Abs(float64(want-got)) <= float64(want)/10+60_000
		}
		d.unless(same, key, want, got)
	case string:
		same := want == got
		switch {
		case secret(last), last == "message", d.stream() && (strings.HasSuffix(last, "id") || last == "next" || last == "name"):
			same = want == "" == (got == "")
		case last == "source" && want == "cache": // the fake does not answer from earlier refusals
			same = got == "redis"
		}
		d.unless(same, key, want, got)
	default:
		d.unless(reflect.DeepEqual(want, got), key, want, got)
	}
}

// withoutEmpty leaves out empty bytes, which mean the same as absent ones, and how long a call
// waited.
func withoutEmpty(a m) m {
	a = maps.Clone(a)
	maps.DeleteFunc(a, func(key string, v any) bool {
		b, ok := v.([]byte)
		return ok && len(b) == 0 || key == "waited_ms"
	})
	return a
}

// stream reports whether the call is about a stream, which names its messages and consumers.
func (d *differences) stream() bool { return strings.Contains(d.call, "stream.") }
