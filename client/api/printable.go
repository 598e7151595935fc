package api

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Printable makes a text that a user chose, such as a client's name, safe to print in
// a line for people. It escapes each character that is not printable as in a Go string
// (\x1b, \n, \u202e): on a terminal such a character could move the cursor, change
// the clipboard or begin a forged line.
func Printable(s string) string {
	if !strings.ContainsFunc(s, hidden) && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		switch n := utf8.RuneLen(r); {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], string(r)):
			b.WriteString(escaped(s[i : i+1]))
		case hidden(r):
			b.WriteString(escaped(s[i : i+n]))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func hidden(r rune) bool { return !strconv.IsPrint(r) }

func escaped(s string) string {
	q := strconv.Quote(s)
	return q[1 : len(q)-1]
}
