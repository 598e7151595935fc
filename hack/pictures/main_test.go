package main_test

import (
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	main "github.com/coxswain-sidecar/coxswain/hack/pictures"
)

var update = flag.Bool("update", false, "draw the sequences of docs/img anew")

// The tests of cmd/sidecar compare the plots, since they are made from the output of one of its commands.
func TestTheCommittedSequencesAreCurrent(t *testing.T) {
	t.Parallel()
	all, err := filepath.Glob("../../docs/img/*.seq")
	require.NoError(t, err)
	require.NotEmpty(t, all)
	for _, from := range all {
		text, err := os.ReadFile(from)
		require.NoError(t, err)
		want, err := main.Sequence(string(text))
		require.NoError(t, err, from)
		to := strings.TrimSuffix(from, ".seq") + ".svg"
		if *update {
			require.NoError(t, os.WriteFile(to, []byte(want), 0o644))
		}
		got, err := os.ReadFile(to)
		require.NoError(t, err)
		if string(got) != want { // a diff of two pictures would not be readable
			t.Errorf("%s is not the picture of %s: run make docs", to, from)
		}
		wellFormed(t, want)
	}
}

func wellFormed(t *testing.T, svg string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(svg))
	for {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(t, err)
	}
}

func TestASequenceThatCannotBeDrawnNamesTheLine(t *testing.T) {
	t.Parallel()
	const begun = "title a\nactors A, B (b)\n"
	for text, want := range map[string]string{
		begun + "A > C: x":   `line 3: "C" is not among the actors`,
		begun + "D . A: x":   `line 3: "D" is not among the actors`,
		begun + "A > B":      `line 3: "A > B": write A > B: TEXT`,
		begun + "A to B: x":  `line 3: "A to B: x": write A > B: TEXT`,
		begun + "hold C":     `line 3: "C" is not among the actors`,
		begun + "\nat A x":   `line 4: "at A x": write at NAME: TEXT`,
		"actors A\nlater on": "it needs a title and actors",
	} {
		_, err := main.Sequence(text)
		require.ErrorContains(t, err, want, text)
	}
}

func TestTextOfASequenceIsEscaped(t *testing.T) {
	t.Parallel()
	svg, err := main.Sequence("title a < b & c\nactors A, B\nA > B: x < \"y\"\nat B: <script>\n")
	require.NoError(t, err)
	require.Contains(t, svg, "<title>a &lt; b &amp; c</title>")
	require.Contains(t, svg, "x &lt; &quot;y&quot;</text>")
	require.NotContains(t, svg, "<script>")
	wellFormed(t, svg)
}

func TestAPlotCountsWhatWasAdmittedInAPeriod(t *testing.T) {
	t.Parallel()
	// The call at 10 s is the second of its period, as the one at 0 s is no longer in it; that at 10.5 s is refused.
	svg, err := main.Limit(`{"at_ms":0,"rule":"r","allowed":true}
{"at_ms":5000,"rule":"r","allowed":true}
{"at_ms":10000,"rule":"r","allowed":true}
{"at_ms":10500,"rule":"r","allowed":false}
{"calls":4,"allowed":3}
`)
	require.NoError(t, err)
	require.Contains(t, svg, "3 of 4 calls admitted (long), 1 refused (short); most in any 10 s: 2")
	require.Equal(t, 3, strings.Count(svg, `class="yes"`))
	wellFormed(t, svg)
	_, err = main.Limit("")
	require.ErrorContains(t, err, "rules simulate -o json")
	_, err = main.Limit("AT KEY")
	require.Error(t, err)
}
