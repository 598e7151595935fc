package lua_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

var update = flag.Bool("update", false, "write what the embedded store answers into the timeline fixtures")

// TestTimelines runs testdata/<script>/*.txt. Such a file is a list of blocks,
// one empty line apart: lines that do something, ----, and what came of it.
//
//	default <script> name=value ...   arguments of all later runs of it
//	at 1500ms                         the clock, since the start; it may step back
//	expire <key>                      the key goes, as when its TTL has ended
//	hash <key> field=value ...        the key holds this hash, whatever it held
//	<script> name=value ...           a run, by the descriptor's names; latch=<key>
//	                                  fingerprint=<text> makes it happen once
//
// The result is the reply by names and then each key of the run: what it holds,
// and the TTL if this run set one; "unchanged" is a key that was not written at
// all. A key that the run does not name has its name in the descriptor, and is
// told only when there is one. @1.5s is an instant since the start, @1.5s(ms) the
// same in milliseconds.
// Arguments that a signature tells (bands, capacity, l, p) follow from it.
// Between runs keys have no TTL, so none ends by the real clock.
func TestTimelines(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*/*.txt")
	require.NoError(t, err)
	visited := map[string]bool{}
	for _, file := range files {
		visited[filepath.Base(filepath.Dir(file))] = true
	}
	for _, src := range lua.Scripts() {
		require.True(t, visited[src.Name], "no fixture in testdata/%s", src.Name)
	}
	for _, file := range files {
		t.Run(strings.TrimPrefix(file, "testdata/"), func(t *testing.T) {
			t.Parallel()
			eachStore(t, func(t *testing.T, s *store) { runTimeline(t, s, file) })
		})
	}
}

func runTimeline(t *testing.T, s *store, file string) {
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	tl := &timeline{s: s, now: epoch, defaults: map[string][]word{}}
	blocks := strings.Split(strings.TrimSpace(string(text)), "\n\n")
	for i, block := range blocks {
		do, want, _ := strings.Cut(block, "\n----\n")
		got := tl.block(t, do, want)
		if *update && s.name == "embedded" {
			blocks[i] = strings.TrimSuffix(do, "\n----")
			if got != "" {
				blocks[i] += "\n----\n" + got
			}
			continue
		}
		require.Equal(t, want, got, "%s, block %d:\n%s", file, i+1, do)
	}
	if *update && s.name == "embedded" {
		require.NoError(t, os.WriteFile(file, []byte(strings.Join(blocks, "\n\n")+"\n"), 0o600))
	}
}

// word is name=value of a line.
type word struct{ name, value string }

// timeline is the state of one file's run.
type timeline struct {
	s        *store
	now      int64
	defaults map[string][]word // by script
}

var words = regexp.MustCompile(`([^\s=]+)=("(?:[^"\\]|\\.)*"|\S*)`)

func parseWords(t *testing.T, text string) []word {
	var out []word
	for _, m := range words.FindAllStringSubmatch(text, -1) {
		v := m[2]
		if strings.HasPrefix(v, `"`) {
			var err error
			v, err = strconv.Unquote(v)
			require.NoError(t, err, text)
		}
		if at, ok := strings.CutPrefix(v, "@"); ok {
			v = strconv.FormatInt(epoch+duration(t, at).Microseconds(), 10)
		}
		out = append(out, word{m[1], v})
	}
	return out
}

func duration(t *testing.T, text string) time.Duration {
	d, err := time.ParseDuration(text)
	require.NoError(t, err)
	return d
}

func (tl *timeline) block(t *testing.T, do, want string) string {
	var got []string
	for line := range strings.Lines(do) {
		verb, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		first, _, _ := strings.Cut(rest, " ")
		ctx := context.Background()
		switch {
		case verb == "" || verb == "----" || strings.HasPrefix(verb, "#"):
		case verb == "at":
			tl.now = epoch + duration(t, rest).Microseconds()
		case verb == "default":
			tl.defaults[first] = parseWords(t, rest)
		case verb == "expire":
			require.EqualValues(t, 1, tl.s.client.Del(ctx, tl.s.key(first)).Val(), "expire %s: there is no such key", first)
		case verb == "hash":
			tl.s.del(t, tl.s.key(first))
			for _, w := range parseWords(t, rest) {
				require.NoError(t, tl.s.client.HSet(ctx, tl.s.key(first), w.name, w.value).Err())
			}
		default:
			got = append(got, tl.run(t, verb, append(slices.Clone(tl.defaults[verb]), parseWords(t, rest)...), want)...)
		}
	}
	return strings.Join(got, "\n")
}

// run executes a script once and tells its reply and its keys.
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
	for _, k := range append(slices.Clone(src.Keys), "latch") {
		v := values[k]
		named[v] = v != ""
		if v == "" {
			v = k
		}
		if k != "latch" || named[v] {
			short, keys = append(short, v), append(keys, tl.s.key(v))
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
		before[i] = tl.s.raw(t, k)
	}
	reply, ttls := tl.timed(t, src, keys, append(args, tl.now))
	out := []string{namedReply(src, reply)}
	for i, k := range keys {
		after, ttl := tl.s.raw(t, k), ttls[i].text(short[i], want)
		require.NoError(t, tl.s.client.Persist(context.Background(), k).Err())
		switch {
		case after == "none" && before[i] == "none" && !named[short[i]]:
			continue
		case after == before[i] && ttl == "" && after != "none":
			after = "unchanged"
		}
		out = append(out, short[i]+" "+after+ttl)
	}
	return out
}

// derive fills in what a signature tells about the bands.
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

// arguments puts named values into the descriptor's order; names before "..."
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
	out := make([]string, 0, len(src.Returns))
	returns, repeats := fixedReturns(src)
	for i, v := range reply {
		name := "EXTRA"
		switch {
		case i < len(returns):
			name = returns[i]
		case repeats:
			group := src.Returns[len(returns)+1:]
			name = group[(i-len(returns))%len(group)]
		}
		out = append(out, name+"="+shown(fmt.Sprint(v)))
	}
	for _, missing := range returns[min(len(reply), len(returns)):] {
		out = append(out, missing+"=MISSING")
	}
	return prefix + strings.Join(out, " ")
}

// ttl is a key's TTL as far as it can be told: what the script set lies between
// low and high, since the store's own clock moves on while it runs.
type ttl struct{ low, high int64 }

// text tells the TTL that a fixture wants if it can be that one, else the lowest.
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

// timed runs a script and brackets it by the store's clock.
func (tl *timeline) timed(t *testing.T, src *lua.Source, keys []string, args []any) ([]any, []ttl) {
	_, sha := lua.Clocked(src)
	ctx := context.Background()
	var from, to *redis.TimeCmd
	var reply *redis.Cmd
	ends := make([]*redis.DurationCmd, len(keys))
	_, err := tl.s.client.TxPipelined(ctx, func(p redis.Pipeliner) error {
		from = p.Time(ctx)
		reply = p.EvalSha(ctx, sha, keys, args...)
		for i, k := range keys {
			ends[i] = p.PExpireTime(ctx, k)
		}
		to = p.Time(ctx)
		return nil
	})
	require.NoError(t, err, src.Name)
	values, err := reply.Slice()
	require.NoError(t, err)
	ttls := make([]ttl, len(keys))
	for i, end := range ends {
		ttls[i] = ttl{-1, -1}
		if at := end.Val().Milliseconds(); at > 0 {
			ttls[i] = ttl{at - to.Val().UnixMilli(), at - from.Val().UnixMilli()}
		}
	}
	return values, ttls
}
