package luatest

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

// Update is the flag -update: tests write what they would compare with.
var Update = flag.Bool("update", false, "write what is compared: the answers of the embedded store into timelines, the headers of scripts")

// Timelines runs testdata/<script>/*.txt of a noun's folder, for each script in it. Such a file is a list of blocks,
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
func Timelines(t *testing.T, noun string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(noun, "testdata/*/*.txt"))
	require.NoError(t, err)
	visited := map[string]bool{}
	for _, file := range files {
		visited[filepath.Base(filepath.Dir(file))] = true
	}
	scripts := scriptsOf(t, noun)
	require.NotEmpty(t, scripts, "%s has no script", noun)
	for _, name := range scripts {
		require.True(t, visited[name], "no fixture in testdata/%s", name)
		delete(visited, name)
	}
	require.Empty(t, visited, "these folders in testdata are of no script")
	for _, file := range files {
		t.Run(filepath.Base(filepath.Dir(file))+"/"+filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			EachStore(t, func(t *testing.T, s *Store) { runTimeline(t, s, file) })
		})
	}
}

// scriptsOf are the names of the scripts in a noun's folder.
func scriptsOf(t *testing.T, noun string) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(noun, "*.lua"))
	require.NoError(t, err)
	for _, file := range files {
		if name := strings.TrimSuffix(filepath.Base(file), ".lua"); !strings.HasPrefix(name, "part_") {
			names = append(names, name)
		}
	}
	return names
}

func runTimeline(t *testing.T, s *Store, file string) {
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	tl := &timeline{s: s, now: Epoch, defaults: map[string][]word{}}
	blocks := strings.Split(strings.TrimSpace(string(text)), "\n\n")
	for i, block := range blocks {
		do, want, _ := strings.Cut(block, "\n----\n")
		got := tl.block(t, do, want)
		if *Update && s.Name == "embedded" {
			blocks[i] = strings.TrimSuffix(do, "\n----")
			if got != "" {
				blocks[i] += "\n----\n" + got
			}
			continue
		}
		require.Equal(t, want, got, "%s, block %d:\n%s", file, i+1, do)
	}
	if *Update && s.Name == "embedded" {
		require.NoError(t, os.WriteFile(file, []byte(strings.Join(blocks, "\n\n")+"\n"), 0o600))
	}
}

// word is name=value of a line.
type word struct{ name, value string }

// timeline is the state of one file's run.
type timeline struct {
	s        *Store
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
			v = strconv.FormatInt(Epoch+duration(t, at).Microseconds(), 10)
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
			tl.now = Epoch + duration(t, rest).Microseconds()
		case verb == "default":
			tl.defaults[first] = parseWords(t, rest)
		case verb == "expire":
			require.EqualValues(t, 1, tl.s.Client.Del(ctx, tl.s.Key(first)).Val(), "expire %s: there is no such key", first)
		case verb == "hash":
			tl.s.Del(t, tl.s.Key(first))
			for _, w := range parseWords(t, rest) {
				require.NoError(t, tl.s.Client.HSet(ctx, tl.s.Key(first), w.name, w.value).Err())
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
	reply, ttls := tl.timed(t, src, keys, append(args, tl.now))
	out := []string{namedReply(src, reply)}
	for i, k := range keys {
		after, ttl := tl.s.Raw(t, k), ttls[i].text(short[i], want)
		require.NoError(t, tl.s.Client.Persist(context.Background(), k).Err())
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
		out = append(out, name+"="+Shown(fmt.Sprint(v)))
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
	_, err := tl.s.Client.TxPipelined(ctx, func(p redis.Pipeliner) error {
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
