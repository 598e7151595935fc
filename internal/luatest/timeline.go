package luatest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Update is the flag -update: tests then write the files that they otherwise compare with.
var Update = flag.Bool("update", false, "write what is compared: the answers of the embedded store into timelines, the headers of scripts")

// Timelines runs testdata/<script>/*.txt of a noun's folder; each script must have some.
// Such a file is a list of blocks, separated by one empty line: lines with actions, ----,
// and their result.
//
//	default <script> name=value ...   arguments of all later runs of it
//	at 1500ms                         the clock, since the start; it may step back
//	expire <key>                      the key is deleted, as when its TTL has ended
//	hash <key> field=value ...        the key holds this hash, whatever it held
//	text <key> <text>                 the same for a text
//	add <key> field=value ...         a message comes to the stream that others added
//	drop <key> <id>                   a message is deleted
//	deliver <key> <group> <consumer> <count>
//	                                  the consumer is given that many new messages
//	idle <key> <group> <id> 1h        the pending message was delivered that long ago
//	ungroup <key> <group>             the group is deleted
//	<script> name=value ...           a run, by the contract's names; stored_reply=<key>
//	                                  fingerprint=<text> makes it happen once; a key that
//	                                  has the name of an argument is named <key>_key
//
// The result is the reply by names and then each key of the run: its value, and the TTL
// if this run set one; "unchanged" is a key that was not written at all. A key that the
// line does not name has its name in the contract, and is shown only if it exists; a key
// that is given twice is shown once. @1.5s is an instant since the start, @1.5s(ms) the
// same in milliseconds. #1 is the first id of a message that was shown or added, and so on.
// Arguments that follow from a signature (bands, capacity, l, p) are derived from it.
// Between runs keys have no TTL, so that none expires by the real clock.
func Timelines(t *testing.T, noun string) {
	t.Helper()
	files, err := TimelinesOf(os.DirFS(noun))
	require.NoError(t, err, noun)
	for _, file := range files {
		t.Run(strings.TrimPrefix(file, "testdata/"), func(t *testing.T) {
			t.Parallel()
			EachStore(t, func(t *testing.T, s *Store) {
				t.Run("one", func(t *testing.T) { runTimeline(t, s, filepath.Join(noun, file), false) })
				many := *s
				many.under = "many:"
				t.Run("many", func(t *testing.T) { runTimeline(t, &many, filepath.Join(noun, file), true) })
			})
		})
	}
}

// TimelinesOf returns the timelines in a noun's folder. It is an error if a script there has
// none, or if there are timelines without a script.
func TimelinesOf(noun fs.FS) ([]string, error) {
	files, err := fs.Glob(noun, "testdata/*/*.txt")
	if err != nil {
		return nil, err
	}
	scripts, err := fs.Glob(noun, "*.lua")
	if err != nil {
		return nil, err
	}
	has := map[string]bool{} // by script: whether it has a timeline
	for _, file := range scripts {
		if name := strings.TrimSuffix(file, ".lua"); !strings.HasPrefix(name, "part_") {
			has[name] = false
		}
	}
	if len(has) == 0 {
		return nil, errors.New("no script is here")
	}
	for _, file := range files {
		name := path.Base(path.Dir(file))
		if _, ok := has[name]; !ok {
			return nil, fmt.Errorf("testdata/%s is of no script", name)
		}
		has[name] = true
	}
	for name, ok := range has {
		if !ok {
			return nil, fmt.Errorf("no fixture in testdata/%s", name)
		}
	}
	return files, nil
}

func runTimeline(t *testing.T, s *Store, file string, many bool) {
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	tl := &timeline{s: s, many: many, now: Epoch, defaults: map[string][]word{}}
	blocks := strings.Split(strings.TrimSpace(string(text)), "\n\n")
	for i, block := range blocks {
		do, want, _ := strings.Cut(block, "\n----\n")
		got := tl.block(t, do, want)
		if *Update && s.Name == "embedded" && !many {
			blocks[i] = strings.TrimSuffix(do, "\n----")
			if got != "" {
				blocks[i] += "\n----\n" + got
			}
			continue
		}
		require.Equal(t, want, got, "%s, block %d:\n%s", file, i+1, do)
	}
	if *Update && s.Name == "embedded" && !many {
		require.NoError(t, os.WriteFile(file, []byte(strings.Join(blocks, "\n\n")+"\n"), 0o600))
	}
}

// word is name=value of a line.
type word struct{ name, value string }

// timeline is the state of one file's run.
type timeline struct {
	s        *Store
	many     bool // scripts run in their form for many items
	now      int64
	defaults map[string][]word // by script
	ids      []string          // of messages, as they were first shown
}

var streamID, shortID = regexp.MustCompile(`\d{13}-\d+`), regexp.MustCompile(`#[1-9]\d*`)

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
		rest = tl.longIDs(rest)
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
		case verb == "text":
			_, text, _ := strings.Cut(rest, " ")
			require.NoError(t, tl.s.Client.Set(ctx, tl.s.Key(first), text, 0).Err())
		case verb == "hash":
			tl.s.Del(t, tl.s.Key(first))
			for _, w := range parseWords(t, rest) {
				require.NoError(t, tl.s.Client.HSet(ctx, tl.s.Key(first), w.name, w.value).Err())
			}
		case tl.act(t, verb, strings.Fields(rest)):
		default:
			for _, line := range tl.run(t, verb, append(slices.Clone(tl.defaults[verb]), parseWords(t, rest)...), want) {
				got = append(got, tl.shortIDs(line))
			}
		}
	}
	return strings.Join(got, "\n")
}
