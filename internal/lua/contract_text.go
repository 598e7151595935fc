package lua

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// This file makes the Lua that a contract puts around a script's body.

// form is one of the two forms of a script: for one item, or for many in one run.
type form bool

// In the form for many, the KEYS of an item begin after key0, same has the arguments that
// were sent once, columns the position before each other argument of all items, and at is
// the number of the item.
const (
	forOne  form = false
	forMany form = true
)

// key returns the expression of a key of the item.
func (f form) key(at int) string {
	if f == forMany {
		return fmt.Sprintf("KEYS[key0 + %d]", at)
	}
	return fmt.Sprintf("KEYS[%d]", at)
}

// arg returns the expression of an argument of the item.
func (f form) arg(at int) string {
	if f == forMany {
		return fmt.Sprintf("(same[%d] or ARGV[columns[%d] + at])", at, at)
	}
	return fmt.Sprintf("ARGV[%d]", at)
}

// number returns the expression of an argument that is a number. columns has converted those
// that were sent once.
func (f form) number(at int) string {
	if f == forMany {
		return fmt.Sprintf("(same[%d] or tonumber(ARGV[columns[%d] + at]))", at, at)
	}
	return "tonumber(" + f.arg(at) + ")"
}

// columns returns the beginning of the form for many, which parses what redis.AppendColumns
// wrote.
func (c *contract) columns() string {
	var numbers []string
	for _, m := range c.ins {
		if m.kind == kindInt {
			numbers = append(numbers, strconv.Itoa(m.at))
		}
	}
	text := `local count, mask = tonumber(ARGV[#ARGV]), ARGV[#ARGV - 1]
local keys, key0, at, same, columns, from = #KEYS / count, 0, 1, {}, {}, 0
for c = 1, #mask do
if string.byte(mask, c) == 49 then
from = from + 1
same[c] = ARGV[from]
else
columns[c] = from
from = from + count
end
end
`
	if len(numbers) > 0 {
		text += "for _, c in ipairs({" + strings.Join(numbers, ", ") + "}) do same[c] = tonumber(same[c]) end\n"
	}
	return text
}

// prologue returns the beginning of a script's body, which sets its inputs as locals.
func (c *contract) prologue(f form) string {
	var names, values []string
	tables := map[string]int{} // the position of each table in names
	for _, m := range c.ins {
		value := m.fromRedis(f)
		if m.table == "" {
			names, values = append(names, m.local()), append(values, value)
			continue
		}
		i, ok := tables[m.table]
		if !ok {
			i = len(names)
			tables[m.table] = i
			names, values = append(names, m.table), append(values, "")
		} else {
			values[i] += ", "
		}
		values[i] += m.name + " = " + value
	}
	for _, i := range tables {
		values[i] = "{" + values[i] + "}"
	}
	if len(names) == 0 {
		return ""
	}
	return "local " + strings.Join(names, ", ") + " = " + strings.Join(values, ", ") + "\n"
}

// fromRedis returns the expression that makes the value out of KEYS or ARGV.
func (m member) fromRedis(f form) string {
	switch m.kind {
	case kindKey:
		return f.key(m.at)
	case kindOptionalKey:
		return f.key(m.at) + " ~= " + f.key(1) + " and " + f.key(m.at) + " or nil"
	case kindInt:
		return f.number(m.at)
	case kindFlag:
		return f.arg(m.at) + " == '1'"
	case kindTexts:
		return "unpacked(" + f.arg(m.at) + ")"
	default:
		return f.arg(m.at)
	}
}

// epilogue returns the Lua function that makes the reply out of the table that the body
// returned.
func (c *contract) epilogue() string {
	if c.single {
		return "local function reply(value) return {" + toRedis("value", c.outs[0].kind) + "} end\n"
	}
	var b strings.Builder
	b.WriteString("local function reply(r)\n")
	if c.fixed() {
		fmt.Fprintf(&b, "return %s\nend\n", c.list("r"))
		return b.String()
	}
	var first []string
	lists := slices.IndexFunc(c.outs, member.isList)
	for _, m := range c.outs[:lists] {
		first = append(first, toRedis("r."+m.name, m.kind))
	}
	fmt.Fprintf(&b, "local out = {%s}\n", strings.Join(first, ", "))
	for _, m := range c.outs[lists:] {
		switch m.kind {
		case kindItems:
			fmt.Fprintf(&b, "out[#out + 1] = r.%s and #r.%s or 0\nfor _, item in ipairs(r.%s or {}) do\n", m.name, m.name, m.name)
			for _, f := range m.items {
				fmt.Fprintf(&b, "out[#out + 1] = %s\n", toRedis("item."+f.name, f.kind))
			}
			b.WriteString("end\n")
		case kindTexts:
			fmt.Fprintf(&b, "out[#out + 1] = r.%s and #r.%s or 0\nfor _, item in ipairs(r.%s or {}) do out[#out + 1] = item end\n", m.name, m.name, m.name)
		default:
			fmt.Fprintf(&b, "out[#out + 1] = %s\n", toRedis("r."+m.name, m.kind))
		}
	}
	b.WriteString("return out\nend\n")
	return b.String()
}

func (m member) isList() bool { return m.kind == kindItems || m.kind == kindTexts }

// fixed reports whether every reply has exactly one value for each output.
func (c *contract) fixed() bool { return !c.single && !slices.ContainsFunc(c.outs, member.isList) }

// list returns the constructor of a fixed reply out of a table r.
func (c *contract) list(r string) string {
	values := make([]string, len(c.outs))
	for i, m := range c.outs {
		values[i] = toRedis(r+"."+m.name, m.kind)
	}
	return "{" + strings.Join(values, ", ") + "}"
}

// kept returns the expression that makes the stored text of a fixed reply out of the list r:
// the same text as once_kept makes, with one call of string.format for the numbers up to each
// text. It is empty if the reply is not fixed.
func (c *contract) kept() string {
	if !c.fixed() {
		return ""
	}
	var pieces, values []string
	format := ""
	flush := func() {
		if format != "" {
			pieces = append(pieces, "string.format('"+format+"', "+strings.Join(values, ", ")+")")
		}
		format, values = "", nil
	}
	for i, m := range c.outs {
		r := fmt.Sprintf("r[%d]", i+1)
		if m.kind == kindText {
			format, values = format+"s%d:", append(values, "#"+r)
			flush()
			pieces = append(pieces, r)
			continue
		}
		format, values = format+"i%d:", append(values, r)
	}
	flush()
	return strings.Join(pieces, " .. ")
}

// unnamed rewrites a body's `return {a = x, b = y}` to the list that is the reply: making
// the table with names takes a tenth of the time of a short script. It does not change other
// forms, replies that are not fixed, bodies with functions in them, which return tables of
// their own, and tables with calls of Redis among the values, whose order must stay.
func (c *contract) unnamed(body string) string {
	if !c.fixed() || strings.Contains(body, "function") {
		return body
	}
	const start = "return {"
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(body, start)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		b.WriteString(start)
		body = rest
		if values, n := fieldsOf(rest); values != nil && c.has(values) && !strings.Contains(rest[:n], "redis.") {
			list := make([]string, len(c.outs))
			for i, m := range c.outs {
				switch v, ok := values[m.name]; {
				case ok:
					list[i] = toRedis("("+v+")", m.kind)
				case m.kind == kindText:
					list[i] = "''"
				default:
					list[i] = "0"
				}
			}
			b.WriteString(strings.Join(list, ", "))
			body = rest[n:]
		}
	}
}

// has reports whether all names are outputs.
func (c *contract) has(values map[string]string) bool {
	for name := range values {
		if !slices.ContainsFunc(c.outs, func(m member) bool { return m.name == name }) {
			return false
		}
	}
	return true
}

var field = regexp.MustCompile(`^\s*([a-z_]+) = ((?s).+)$`)

// fieldsOf parses the fields of a table constructor in text, which begins after the opening
// brace, and returns the position of the closing one. Nil = a field has no name, or the
// constructor has a form that fieldsOf does not parse.
func fieldsOf(text string) (fields map[string]string, end int) {
	fields = map[string]string{}
	depth, from, quote := 0, 0, byte(0)
	for i := range len(text) {
		ch := text[i]
		switch {
		case quote != 0:
			if ch == quote {
				quote = 0
			}
		case ch == '\'' || ch == '"':
			quote = ch
		case ch == '\\':
			return nil, 0
		case strings.IndexByte("({[", ch) >= 0:
			depth++
		case depth > 0 && strings.IndexByte(")}]", ch) >= 0:
			depth--
		case depth == 0 && (ch == ',' || ch == '}'):
			item := strings.TrimSpace(text[from:i])
			if m := field.FindStringSubmatch(item); m != nil {
				fields[m[1]] = m[2]
			} else if item != "" {
				return nil, 0
			}
			if ch == '}' {
				return fields, i
			}
			from = i + 1
		}
	}
	return nil, 0
}

// toRedis returns the expression of a value in a reply. A value that the script did not set is
// zero.
func toRedis(value string, k kind) string {
	switch k {
	case kindInt:
		return value + " or 0"
	case kindFlag:
		return value + " and 1 or 0"
	default:
		return value + " or ''"
	}
}
