package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/coxswain-sidecar/coxswain/internal/nearest"
)

// maxFileBytes is the largest file that is parsed: a larger one is not a configuration.
const maxFileBytes = 1 << 20

// source is one file while it is read into a Config.
type source struct {
	name     string
	number   int      // as in Problem.file
	text     []string // its lines
	lines    map[string]int
	problems Problems
}

// readFile reads the file name into c, over what c has. The error is a Problems with one
// problem of the file as a whole; mistakes in fields are in the returned source.
func readFile(name string, c *Config, opened func(string, fs.FileInfo)) (*source, error) {
	b, info, err := readAll(name, opened)
	if err != nil {
		return nil, Problems{{Where: name, Message: fmt.Sprintf("cannot be read: %v; give the path of a YAML file", bare(err))}}
	}
	c.modified = info.ModTime()
	return parse(name, b, c)
}

// readAll reads a file. It calls opened with the file's state before it reads the first
// byte, so that a change during the reading counts as a change since then.
func readAll(name string, opened func(string, fs.FileInfo)) ([]byte, fs.FileInfo, error) {
	f, err := os.Open(name)
	if err != nil {
		opened(name, nil)
		return nil, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	opened(name, info)
	if err != nil {
		return nil, nil, err
	}
	b, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	return b, info, err
}

// bare returns an error without the path, which the message already has.
func bare(err error) error {
	var e *fs.PathError
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}

// parse walks the syntax tree rather than using a decoder, since a decoder stops
// at the first mistake and this package reports all of them.
func parse(name string, b []byte, c *Config) (*source, error) {
	s := &source{name: name}
	return s, s.parse(b, reflect.ValueOf(c).Elem())
}

func (s *source) parse(b []byte, v reflect.Value) error {
	if p := Mark(b); p != nil && !p.Warns {
		return Problems{{Where: s.name, Message: p.Error()}}
	}
	b = bytes.TrimPrefix(b, []byte(byteOrderMark))
	s.text, s.lines = strings.Split(string(b), "\n"), map[string]int{}
	if len(b) > maxFileBytes {
		return Problems{{Where: s.name, Message: fmt.Sprintf("has more than %d bytes, the most of a configuration; name the right file", maxFileBytes)}}
	}
	f, err := parser.ParseBytes(b, 0)
	if err != nil {
		return Problems{s.syntax(err)}
	}
	body, extra := documents(f)
	if extra != nil {
		s.add(extra, "", "a second document starts here; keep one, without --- between sections")
	}
	if body != nil {
		s.section("", body, v)
	}
	return nil
}

// documents returns the first two documents that are not empty.
func documents(f *ast.File) (first, second ast.Node) {
	for _, d := range f.Docs {
		switch {
		case d.Body == nil || d.Body.Type() == ast.CommentType || d.Body.Type() == ast.NullType:
		case first == nil:
			first = d.Body
		case second == nil:
			second = d.Body
		}
	}
	return first, second
}

func (s *source) syntax(err error) Problem {
	p := Problem{Where: s.name, Message: err.Error(), file: s.number}
	var e yaml.Error
	if errors.As(err, &e) {
		p.Message = e.GetMessage()
		if t := e.GetToken(); t != nil && t.Position != nil {
			p.Where = fmt.Sprintf("%s:%d", s.name, t.Position.Line)
			p.Excerpt, p.line = excerpt(s.text, t.Position.Line), t.Position.Line
		}
	}
	p.Message = "not YAML: " + p.Message
	return p
}

// add records a mistake at a node.
func (s *source) add(n ast.Node, path, format string, args ...any) {
	line := lineOf(n)
	s.problems = append(s.problems, Problem{
		Where: fmt.Sprintf("%s:%d", s.name, line), Path: path,
		Message: fmt.Sprintf(format, args...), Excerpt: excerpt(s.text, line), file: s.number, line: line,
	})
}

func lineOf(n ast.Node) int {
	if m, ok := n.(*ast.MappingNode); ok && len(m.Values) > 0 {
		n = m.Values[0].Key // the mapping's own token is its first colon
	}
	if t := n.GetToken(); t != nil && t.Position != nil {
		return t.Position.Line
	}
	return 0
}

// value reads a node into any field.
func (s *source) value(path string, n ast.Node, v reflect.Value) {
	if t, ok := n.(*ast.TagNode); ok {
		n = t.Value
	}
	switch n.(type) {
	case *ast.AnchorNode, *ast.AliasNode:
		s.add(n, path, "anchors and aliases are not read; write the value out")
		return
	}
	switch {
	case v.Kind() == reflect.Pointer:
		// A pointer distinguishes an absent value (nil) from zero.
		v.Set(reflect.New(v.Type().Elem()))
		s.value(path, n, v.Elem())
	case v.Kind() == reflect.Struct:
		s.section(path, n, v)
	case v.Kind() == reflect.Slice:
		s.list(path, n, v)
	default:
		s.scalar(path, n, v)
	}
}

// section reads a mapping into a struct. A section whose keys are all commented
// out is null: its fields keep their defaults.
func (s *source) section(path string, n ast.Node, v reflect.Value) {
	if n.Type() == ast.NullType {
		return
	}
	m, ok := n.(ast.MapNode)
	if !ok {
		s.add(n, path, "this is %s; write the keys of the section below it: %s", describe(n), strings.Join(keys(v.Type()), ", "))
		return
	}
	for it := m.MapRange(); it.Next(); {
		s.entry(path, it.Key(), it.Value(), v)
	}
}

func (s *source) entry(path string, k ast.MapKeyNode, n ast.Node, v reflect.Value) {
	name := k.GetToken().Value
	at := join(path, name)
	if k.IsMergeKey() {
		s.add(k, path, "merge keys are not read; write the values out")
		return
	}
	for i := range v.NumField() {
		if f := key(v.Type().Field(i)); f != "" && f == name {
			s.lines[at] = lineOf(k)
			s.value(at, n, v.Field(i))
			return
		}
	}
	known := keys(v.Type())
	if meant, ok := nearest.Name(name, known); ok {
		s.add(k, at, "unknown key; did you mean %s?", meant)
		return
	}
	s.add(k, at, "unknown key; known here: %s", strings.Join(known, ", "))
}

// list reads a sequence into a slice, replacing it.
func (s *source) list(path string, n ast.Node, v reflect.Value) {
	if n.Type() == ast.NullType {
		return
	}
	seq, ok := n.(*ast.SequenceNode)
	if !ok {
		s.add(n, path, "this is %s; write a list, one item a line, each after a dash", describe(n))
		return
	}
	if len(seq.Values) == 0 {
		v.SetZero() // an empty list means the same as no list
		return
	}
	items := reflect.MakeSlice(v.Type(), len(seq.Values), len(seq.Values))
	for i, item := range seq.Values {
		at := fmt.Sprintf("%s[%d]", path, i)
		s.lines[at] = lineOf(item)
		s.value(at, item, items.Index(i))
	}
	v.Set(items)
}

func (s *source) scalar(path string, n ast.Node, v reflect.Value) {
	if n.Type() == ast.NullType {
		s.add(n, path, "has no value; write one, or remove the line for the default")
		return
	}
	text, ok := scalarText(n)
	if !ok {
		s.add(n, path, "this is %s; write a single value", describe(n))
		return
	}
	if err := setText(v, text); err != nil {
		s.add(n, path, "%v", err)
	}
}

// scalarText returns a scalar as it was written, without quotes: 0660 stays 0660,
// which a YAML decoder would turn into 432.
func scalarText(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	case ast.ScalarNode:
		return n.GetToken().Value, true
	default:
		return "", false
	}
}

func describe(n ast.Node) string {
	switch n.(type) {
	case ast.MapNode:
		return "a section"
	case *ast.SequenceNode:
		return "a list"
	default:
		return "a single value"
	}
}

func keys(t reflect.Type) []string {
	names := make([]string, 0, t.NumField())
	for i := range t.NumField() {
		if k := key(t.Field(i)); k != "" {
			names = append(names, k)
		}
	}
	return names
}
