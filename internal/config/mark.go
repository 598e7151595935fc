package config

import (
	"bytes"
	"fmt"

	"github.com/coxswain-sidecar/coxswain/internal/finding"
)

// MarkCheck is the check of sidecar doctor that finds byte order marks.
const MarkCheck = "config-bom"

const byteOrderMark = "\ufeff"

// Mark returns the problem of a byte order mark (BOM) in the text of a file; nil = it has none. A mark at the
// beginning of UTF-8, which some editors write, is only a warning: it is skipped when the file is read.
func Mark(text []byte) *finding.Problem {
	p := &finding.Problem{ID: MarkCheck, Fix: "save the file as UTF-8 without a byte order mark"}
	inside := bytes.Index(text, []byte("\n"+byteOrderMark))
	switch {
	case bytes.HasPrefix(text, []byte("\xff\xfe")), bytes.HasPrefix(text, []byte("\xfe\xff")):
		p.Cause = "is UTF-16, as its byte order mark (BOM) says, and YAML is read as UTF-8"
	case inside >= 0:
		p.Cause = fmt.Sprintf("line %d begins with a byte order mark (BOM), which is then a part of its key", bytes.Count(text[:inside+1], []byte("\n"))+1)
		p.Fix = "remove it there: it is what is left where a file was put behind another"
	case bytes.HasPrefix(text, []byte(byteOrderMark)):
		p.Cause, p.Warns = "begins with a byte order mark (BOM); it is skipped here, and other programs take it for a part of the first key", true
	default:
		return nil
	}
	return p
}
