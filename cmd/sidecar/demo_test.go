package main_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client"
	main "github.com/coxswain-sidecar/coxswain/cmd/sidecar"
)

func TestTheDemoShowsEverythingAndLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	tmp := socketIn(t) // a folder of its own, to see what is left in it
	require.NoError(t, os.Mkdir(tmp, 0o700))
	p, out := spawn(t, []string{"TMPDIR=" + tmp}, "demo")
	require.NoError(t, p.Wait(), out)
	for _, want := range []string{
		`\n  1 +allowed +2 +-\n  2 +allowed +1 +-\n  3 +allowed +0 +-\n  4 +refused +0 +(1?\d(\.\d+)?|20)s\n`, // what is left of 20 s
		`\n  alice +take it +acquired, fence \d+\n  bob +take it +busy, alice holds it for up to 10m0s\n` +
			`  alice +release it +released\n  bob +take it +acquired, fence \d+\n`,
		`\n  carol +take it +acquired, fence \d+\n  bob +take it +busy, carol holds it for up to 10m0s\n` +
			`  carol +\(is killed\) *\n  bob +take it +acquired \S+ later, when the TTL had (9m\d+s|10m0s) to go\n`,
		`\nAll 12 answers came out as they should\.\n$`,
	} {
		require.Regexp(t, want, out.String())
	}
	left, err := os.ReadDir(tmp)
	require.NoError(t, err)
	require.Empty(t, left)
}

// The demo checks itself: on a sidecar where somebody else holds its lock, its
// answers are wrong, and it says so and fails.
func TestTheDemoFailsWhenAnAnswerIsWrong(t *testing.T) {
	t.Parallel()
	s := serve(t, socketIn(t), []string{noGrace}, "--redis", "embedded")
	wait(t, s.socket)
	c := dial(t, s.socket, "mallory")
	_, err := c.LockAcquire(t.Context(), "nightly-crawl", client.LockOptions{})
	require.NoError(t, err)

	var out bytes.Buffer
	err = main.ShowDemo(t.Context(), &out, s.socket)
	require.Error(t, err)
	require.Regexp(t, `\n  alice +take it +busy, mallory holds it for up to \d+s +<- WRONG\n`, out.String())
	require.NotContains(t, out.String(), "as they should")

	out.Reset()
	require.Error(t, main.ShowDemo(t.Context(), &out, s.socket), "the limit is used up by now")
	require.Equal(t, 4, strings.Count(out.String(), "<- WRONG"), out.String())
}

func TestTheDemoReportsThatNoSidecarAnswers(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.ErrorContains(t, main.ShowDemo(t.Context(), &out, socketIn(t)), "demo: cannot reach the sidecar at ")
}
