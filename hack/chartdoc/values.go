package main

import (
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// value is one key of values.yaml.
type value struct {
	name, path string
	line       int
	doc        string
	rules      map[string]any // of its @schema line
	initial    any            // its value in the file
	children   []*value       // those of an object, in the file's order
}

const rulesMark = "@schema:"

func read(text []byte) ([]*value, error) {
	f, err := parser.ParseBytes(text, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	if len(f.Docs) != 1 {
		return nil, fmt.Errorf("%d documents; one is expected", len(f.Docs))
	}
	return children("", f.Docs[0].Body)
}

func children(path string, n ast.Node) ([]*value, error) {
	var pairs []*ast.MappingValueNode
	switch n := n.(type) {
	case *ast.MappingNode:
		pairs = n.Values
	case *ast.MappingValueNode:
		pairs = append(pairs, n)
	}
	var all []*value
	for _, pair := range pairs {
		v, err := one(path, pair)
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, nil
}

func one(path string, pair *ast.MappingValueNode) (*value, error) {
	token := pair.Key.GetToken()
	v := &value{name: token.Value, path: path + token.Value, line: token.Position.Line}
	for _, line := range above(pair.GetComment(), v.line) {
		after, isRules := strings.CutPrefix(line, rulesMark)
		if !isRules {
			v.doc = strings.TrimSpace(v.doc + " " + line)
			continue
		}
		if err := yaml.Unmarshal([]byte(after), &v.rules); err != nil {
			return nil, fmt.Errorf("line %d: %s: %w", v.line, v.path, err)
		}
	}
	if err := yaml.NodeToValue(pair.Value, &v.initial); err != nil {
		return nil, fmt.Errorf("line %d: %s: %w", v.line, v.path, err)
	}
	var err error
	v.children, err = children(v.path+".", pair.Value)
	return v, err
}

// above returns the lines of the comment directly above a key: lines that are
// separated from it by an empty line are about something else.
func above(group *ast.CommentGroupNode, key int) []string {
	if group == nil {
		return nil
	}
	var lines []string
	next := 0
	for _, c := range group.Comments {
		at := c.GetToken().Position.Line
		if at != next {
			lines = nil
		}
		lines, next = append(lines, strings.TrimSpace(c.GetToken().Value)), at+1
	}
	if next != key {
		return nil
	}
	return lines
}

// ours reports whether the keys below a value are the chart's own, each with a
// description; the keys of other objects are chosen by users.
func (v *value) ours() bool {
	_, free := v.rules["additionalProperties"]
	_, elsewhere := v.rules["$ref"]
	return len(v.children) > 0 && !free && !elsewhere
}
