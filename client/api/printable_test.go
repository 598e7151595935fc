package api_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

func TestWhatIsNotPrintableIsWrittenOut(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                            "",
		`worker "7" C:\x`:             `worker "7" C:\x`,
		"grüße 日本 🚣":                  "grüße 日本 🚣",
		"a\x1b[2Jb":                   `a\x1b[2Jb`,
		"a\x1b]52;c;aGk=\x07":         `a\x1b]52;c;aGk=\a`,
		"a\r\nb\tc\x00":               `a\r\nb\tc\x00`,
		"\u009b31m\x7f":               `\u009b31m\x7f`,
		"\u202eabc\u2066\u200f\u2028": `\u202eabc\u2066\u200f\u2028`,
		"\xffa\xc3":                   `\xffa\xc3`,
		"\ufffd":                      "\ufffd",
	} {
		require.Equal(t, want, api.Printable(text))
	}
}
