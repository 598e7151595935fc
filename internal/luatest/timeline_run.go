package luatest

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// run executes a script once and returns its reply and its keys as text.
func (tl *timeline) run(t *testing.T, name string, given []word, want string) []string {
	i := slices.IndexFunc(lua.Scripts(), func(s *lua.Source) bool { return s.Name == name })
	require.GreaterOrEqual(t, i, 0, "no script and no verb is called %s", name)
	src := lua.Scripts()[i]
	values := map[string]string{}
	for _, w := range given {
		values[w.name] = w.value
	}
	derive(values)
	var short, keys []string
	named := map[string]bool{}
	for _, k := range append(slices.Clone(src.Keys), "stored_reply") {
		if slices.Contains(src.Args, k) {
			k += "_key"
		}
		v := values[k]
		named[v] = v != ""
		if v == "" {
			v = k
		}
		if k != "stored_reply" || named[v] {
			short, keys = append(short, v), append(keys, tl.s.Key(v))
		}
		delete(values, k)
	}
	args := arguments(t, src, values)
	if len(keys) > len(src.Keys) {
		args = append(args, values["fingerprint"])
		delete(values, "fingerprint")
	}
	require.Empty(t, values, "%s takes no such argument", name)

	before := make([]string, len(keys))
	for i, k := range keys {
		before[i] = tl.s.Raw(t, k)
	}
	tl.s.Apart(t)
	reply, ttls := tl.timed(t, src, keys, append(args, tl.now))
	out := []string{namedReply(src, reply)}
	for i, k := range keys {
		after, ttl := tl.s.Raw(t, k), ttls[i].text(short[i], want)
		require.NoError(t, tl.s.Client.Persist(context.Background(), k).Err())
		switch {
		case after == "none" && before[i] == "none" && !named[short[i]], slices.Contains(short[:i], short[i]):
			continue
		case after == before[i] && ttl == "" && after != "none":
			after = "unchanged"
		}
		out = append(out, short[i]+" "+after+ttl)
	}
	return out
}

// derive sets the arguments about bands that follow from a signature.
func derive(values map[string]string) {
	sig := values["signature"]
	if sig == "" {
		return
	}
	var c, l, p []string
	for band := range strings.SplitSeq(sig, ";") {
		part := strings.Split(band, "/")
		c, l, p = append(c, part[0]), append(l, part[1]), append(p, part[2])
	}
	values["bands"] = strconv.Itoa(len(c))
	values["capacity"], values["l"], values["p"] = strings.Join(c, ","), strings.Join(l, ","), strings.Join(p, ",")
}

// arguments puts named values into the contract's order; names before "..."
// from "bands" on repeat, with a value for each band.
func arguments(t *testing.T, src *lua.Source, values map[string]string) []any {
	var args []any
	repeating := -1
	for i, name := range src.Args {
		if repeating >= 0 && name != "..." {
			continue
		}
		if name == "..." {
			group := src.Args[repeating:i]
			for b := range strings.Count(values[group[0]], ",") + 1 {
				for _, n := range group {
					args = append(args, strings.Split(values[n], ",")[b])
				}
			}
			continue
		}
		v, ok := values[name]
		require.True(t, ok, "%s needs %s=", src.Name, name)
		args = append(args, v)
		if name == "bands" {
			repeating = i + 1
		}
	}
	for _, name := range append(slices.Clone(src.Args), "bands", "capacity", "l", "p") {
		delete(values, name)
	}
	return args
}

func namedReply(src *lua.Source, reply []any) string {
	if len(reply) == 1 && reply[0] == "conflict" {
		return "conflict"
	}
	prefix := ""
	if len(reply) == 2 && reply[0] == "replayed" {
		prefix, reply = "replayed ", reply[1].([]any)
	}
	names := lua.NamesOf(src, reply)
	out := make([]string, 0, len(names))
	for i, v := range reply {
		name := "EXTRA"
		if i < len(names) {
			name = names[i]
		}
		out = append(out, name+"="+Shown(fmt.Sprint(v)))
	}
	for _, missing := range names[min(len(reply), len(names)):] {
		out = append(out, missing+"=MISSING")
	}
	return prefix + strings.Join(out, " ")
}

// ttl is the range of a key's TTL: the TTL that the script set is between low and
// high, since the store's own clock advances while the script runs.
type ttl struct{ low, high int64 }

// text returns the TTL of the fixture if it is in the range, else the lowest one.
func (d ttl) text(key, want string) string {
	if d.high < 0 {
		return ""
	}
	told := d.low
	lines := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(key) + ` .* ttl=(\d+)ms$`)
	for _, m := range lines.FindAllStringSubmatch(want, -1) {
		if n, err := strconv.ParseInt(m[1], 10, 64); err == nil && d.low <= n && n <= d.high {
			told = n
		}
	}
	return fmt.Sprintf(" ttl=%dms", told)
}

// timed runs a script and reads the store's clock before and after it.
func (tl *timeline) timed(t *testing.T, src *lua.Source, keys []string, args []any) ([]any, []ttl) {
	f := formOf(src, tl.many)
	ctx := context.Background()
	var from, to *redis.TimeCmd
	var reply *redis.Cmd
	ends := make([]*redis.DurationCmd, len(keys))
	_, err := tl.s.Client.TxPipelined(ctx, func(p redis.Pipeliner) error {
		from = p.Time(ctx)
		reply = p.EvalSha(ctx, f.sha, keys, f.args(args)...)
		for i, k := range keys {
			ends[i] = p.PExpireTime(ctx, k)
		}
		to = p.Time(ctx)
		return nil
	})
	require.NoError(t, err, src.Name)
	values, err := f.reply(reply)
	require.NoError(t, err, src.Name)
	ttls := make([]ttl, len(keys))
	for i, end := range ends {
		ttls[i] = ttl{-1, -1}
		if at := end.Val().Milliseconds(); at > 0 {
			ttls[i] = ttl{at - to.Val().UnixMilli(), at - from.Val().UnixMilli()}
		}
	}
	return values, ttls
}
