package doctor

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// Look selects how a report is written for people.
type Look struct {
	// Signs writes a sign in place of a state's word; Colours colours either.
	Signs, Colours bool
}

// columns is the width of a report.
const columns = 100

var (
	words   = map[string]string{OK: "ok", Warn: "warn", Fail: "FAIL", Unchecked: "-"}
	signs   = map[string]string{OK: "✓", Warn: "!", Fail: "✗", Unchecked: "-"}
	colours = map[string]string{OK: "\x1b[32m", Warn: "\x1b[33m", Fail: "\x1b[31m", Unchecked: "\x1b[2m"}
)

// Write writes a report for people, at most 100 columns wide. Characters that are not printable are escaped.
func (r Report) Write(to io.Writer, look Look) error {
	var b strings.Builder
	ids := len("not checked")
	for _, f := range r.Checks {
		ids = max(ids, len(f.ID))
	}
	var whys []string
	waiting := map[string][]string{} // ids of checks that were not made, by the reason
	for _, f := range r.Checks {
		if f.State != Unchecked {
			f.write(&b, look, ids)
			continue
		}
		if waiting[f.Cause] == nil {
			whys = append(whys, f.Cause)
		}
		waiting[f.Cause] = append(waiting[f.Cause], f.ID)
	}
	for _, why := range whys {
		f := Finding{ID: "not checked", State: Unchecked, Found: strings.Join(waiting[why], ", ") + ": " + why}
		f.write(&b, look, ids)
	}
	b.WriteString(r.sum())
	_, err := io.WriteString(to, b.String())
	return err
}

func (f Finding) write(b *strings.Builder, look Look, ids int) {
	mark := fmt.Sprintf("%-4s", words[f.State])
	if look.Signs {
		mark = signs[f.State]
	}
	indent := utf8.RuneCountInString(mark) + 1 + ids + 2
	head := fmt.Sprintf("%-*s  ", ids, f.ID)
	if look.Colours {
		mark = colours[f.State] + mark + "\x1b[0m"
	}
	fmt.Fprintln(b, strings.TrimRight(mark+" "+head+wrapped(f.Found, indent), " "))
	if f.State == OK || f.State == Unchecked {
		return
	}
	const label = 7
	for _, part := range []struct{ name, text string }{{"cause", f.Cause}, {"fix", f.Fix}, {"docs", f.Docs}} {
		fmt.Fprintf(b, "%*s%-*s%s\n", 5, "", label, part.name, wrapped(part.text, 5+label))
	}
}

// wrapped breaks text into lines that fit into the columns right of indent; all but the first are indented.
func wrapped(text string, indent int) string {
	room := columns - indent
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.TrimRight(strings.ReplaceAll(line, "\t", "    "), "\n")
		rest := []rune(api.Printable(line))
		for len(rest) > room {
			cut := room
			for i := room; i > room/2; i-- {
				if rest[i] == ' ' {
					cut = i
					break
				}
			}
			lines = append(lines, strings.TrimRight(string(rest[:cut]), " "))
			rest = []rune(strings.TrimLeft(string(rest[cut:]), " "))
		}
		lines = append(lines, strings.TrimRight(string(rest), " "))
	}
	return strings.Join(lines, "\n"+strings.Repeat(" ", indent))
}

// sum returns the last line, which counts the states.
func (r Report) sum() string {
	n := map[string]int{}
	for _, f := range r.Checks {
		n[f.State]++
	}
	text := fmt.Sprintf("%d ok, %s, %d failed", n[OK], count(n[Warn], "warning"), n[Fail])
	if n[Unchecked] > 0 {
		text += fmt.Sprintf(", %d not checked", n[Unchecked])
	}
	return text + "\n"
}
