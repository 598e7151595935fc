package main_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	main "github.com/coxswain-sidecar/coxswain/cmd/sidecar"
)

func TestWhatIsPublishedIsPrintedByTail(t *testing.T) {
	t.Parallel()
	s := ready(t)
	for format, want := range map[string]string{
		"text": "a.b <h\\x1b[1m>\\n2\na.c x y\n",
		"json": `{"channel":"a.b","pattern":"a.*","body":"PGgbWzFtPgoy"}` + "\n" + `{"channel":"a.c","pattern":"a.*","body":"eCB5"}` + "\n",
	} {
		_, out := spawn(t, []string{"COXSWAIN_SOCKET=" + s.socket}, "tail", "--pattern", "a.*", "--count", "2", "-o", format)
		require.Eventually(t, func() bool { return strings.Contains(out.String(), "subscribed\n") }, limit, 10*time.Millisecond)
		at := []string{"--socket", s.socket, "publish", "--channel"}
		require.Equal(t, answer{main.OK, "{\"receivers\":1}\n", ""}, cliWith(t, "<h\x1b[1m>\n2", nil, append(at, "a.b")...))
		require.Equal(t, answer{main.OK, "{\"receivers\":1}\n", ""}, cliWith(t, "not read", nil, append(at, "a.c", "--body", "x y")...))
		require.Eventually(t, func() bool { return strings.HasSuffix(out.String(), want) }, limit, 10*time.Millisecond, "%s", out)
	}
}

func TestTailEndsWithItsTimeout(t *testing.T) {
	t.Parallel()
	s := ready(t)
	a := cli(t, "tail", "--socket", s.socket, "--channel", "c", "--timeout", "2s")
	require.Equal(t, main.OK, a.code, a.err)
	require.Empty(t, a.out)
}

func TestPublishAndTailSayHowTheyAreUsed(t *testing.T) {
	t.Parallel()
	const usageOfTail = "Usage: sidecar tail [--channel C|--pattern P|--stream S] [flags]; more: sidecar tail --help\n"
	for line, want := range map[string]string{
		"publish":                                   "publish: give either --channel or --stream\n",
		"publish --channel c --stream s":            "publish: give either --channel or --stream\n",
		"publish --channel c --field a=b":           "publish: --field is of streams; a message of a channel has a body alone\n",
		"publish --stream s --field a":              "--field a: write name=text, each name once\n",
		"publish --stream s --field a= --field a=b": "--field a=b: write name=text, each name once\n",
		"tail --channel c --kind lost":              "tail: --kind, --noun and --name are of events, which are printed without --channel, --pattern and --stream\n",
		"tail --stream s --name x":                  "tail: --kind, --noun and --name are of events, which are printed without --channel, --pattern and --stream\n",
		"tail --noun lokc":                          "--noun lokc is unknown; did you mean lock?\n",
		"tail --name a\\b":                          "--name a\\b: a backslash stands before *, ? or a backslash alone\n",
		"tail --start first":                        "tail: --group and --start are of streams\n",
		"tail --channel c --stream s":               "tail: give --channel or --pattern, or else --stream\n",
		"tail --channel c --group g":                "tail: --group and --start are of streams\n",
		"tail --pattern c --start new":              "tail: --group and --start are of streams\n",
		"tail --stream s --start 1-0":               "--start 1-0 is unknown; write first or new\n" + usageOfTail,
		"tail --channel c -o yaml":                  "--output yaml is unknown; write text or json\n" + usageOfTail,
	} {
		a := cli(t, strings.Fields(line)...)
		require.Equal(t, answer{main.Usage, "", want}, a, line)
	}
	a := cliWith(t, strings.Repeat("x", 256<<10+1), nil, "publish", "--channel", "c")
	require.Equal(t, main.Usage, a.code)
	require.Contains(t, a.err, "more than 262144 bytes")
}
