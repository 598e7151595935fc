package main_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// asked is what an expression of PromQL names. Whether it is one is for promtool
// to say: here is read what a list of metrics can be compared with, without the
// dependencies of Prometheus' own parser.
type asked struct {
	selectors []selector
	grouped   [][]string // the labels of each by, without, on, ignoring and group_
	by        [][]string // those of each by
}

type selector struct {
	metric   string
	matchers []matcher
}

type matcher struct{ label, op, value string }

var (
	promGroups     = []string{"by", "without", "on", "ignoring", "group_left", "group_right"}
	promWords      = []string{"and", "or", "unless", "bool", "offset"}
	promAggregates = []string{
		"sum", "min", "max", "avg", "group", "stddev", "stdvar", "count", "count_values", "bottomk", "topk", "quantile",
	}
)

// promToken is a name, a string or a sign of one or two characters. Numbers and
// ranges name nothing, and are none.
type promToken struct {
	kind byte // n, s or o
	text string
}

func readPromQL(expr string) (asked, error) {
	tokens, err := promTokens(expr)
	if err != nil {
		return asked{}, err
	}
	r := promReader{rest: tokens}
	for len(r.rest) > 0 {
		if err := r.next(); err != nil {
			return asked{}, fmt.Errorf("%w in %s", err, expr)
		}
	}
	return r.found, nil
}

func promTokens(expr string) ([]promToken, error) {
	var all []promToken
	for i := 0; i < len(expr); {
		c := expr[i]
		end := i + 1
		switch {
		case strings.IndexByte(" \t\n", c) >= 0:
		case c == '"' || c == '\'':
			for end < len(expr) && expr[end] != c {
				if expr[end] == '\\' {
					end++
				}
				end++
			}
			if end >= len(expr) {
				return nil, fmt.Errorf("a string without an end in %s", expr)
			}
			all = append(all, promToken{'s', expr[i+1 : end]})
			end++
		case c == '[':
			n := strings.IndexByte(expr[i:], ']')
			if n < 0 {
				return nil, fmt.Errorf("a range without an end in %s", expr)
			}
			end = i + n + 1
		case c >= '0' && c <= '9':
			for end < len(expr) && (promName(expr[end]) || expr[end] == '.') {
				end++
			}
		case promName(c):
			for end < len(expr) && promName(expr[end]) {
				end++
			}
			all = append(all, promToken{'n', expr[i:end]})
		case strings.IndexByte("=!<>", c) >= 0 && end < len(expr) && strings.IndexByte("=~", expr[end]) >= 0:
			end++
			all = append(all, promToken{'o', expr[i:end]})
		case strings.IndexByte("(){},=<>+-*/%^@", c) >= 0:
			all = append(all, promToken{'o', expr[i:end]})
		default:
			return nil, fmt.Errorf("%q, which is not read here, in %s", c, expr)
		}
		i = end
	}
	return all, nil
}

func promName(c byte) bool {
	return c == '_' || c == ':' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

type promReader struct {
	rest  []promToken
	found asked
}

func (r *promReader) is(text string) bool {
	return len(r.rest) > 0 && r.rest[0] == promToken{'o', text}
}

func (r *promReader) take() promToken {
	t := r.rest[0]
	r.rest = r.rest[1:]
	return t
}

func (r *promReader) next() error {
	t := r.take()
	word := strings.ToLower(t.text)
	switch {
	case t == promToken{'o', "{"}:
		return fmt.Errorf("a selector without the name of a metric")
	case t.kind != 'n' || slices.Contains(promWords, word) || slices.Contains(promAggregates, word):
		return nil
	case slices.Contains(promGroups, word):
		if !r.is("(") {
			return nil // group_left alone
		}
		labels, err := r.list(")", func() error { return nil })
		r.found.grouped = append(r.found.grouped, labels)
		if word == "by" {
			r.found.by = append(r.found.by, labels)
		}
		return err
	case r.is("("):
		return nil // a function
	}
	s := selector{metric: t.text}
	if r.is("{") {
		labels, err := r.list("}", func() error {
			if len(r.rest) < 2 || r.rest[1].kind != 's' {
				return fmt.Errorf("a matcher without a value")
			}
			s.matchers = append(s.matchers, matcher{op: r.take().text, value: r.take().text})
			return nil
		})
		if err != nil {
			return err
		}
		for i, l := range labels {
			s.matchers[i].label = l
		}
	}
	r.found.selectors = append(r.found.selectors, s)
	return nil
}

// list reads names, each with what follows it, up to the sign that ends the list.
func (r *promReader) list(end string, follows func() error) ([]string, error) {
	names := []string{}
	for r.take(); len(r.rest) > 0; {
		switch {
		case r.is(end):
			r.take()
			return names, nil
		case r.is(","):
			r.take()
		case r.rest[0].kind == 'n':
			names = append(names, r.take().text)
			if err := follows(); err != nil {
				return nil, err
			}
		default:
			return nil, fmt.Errorf("%q in a list of labels", r.rest[0].text)
		}
	}
	return nil, fmt.Errorf("a list of labels without its %s", end)
}

func TestMetricsAndLabelsOfAnExpressionAreFound(t *testing.T) {
	t.Parallel()
	got, err := readPromQL(`histogram_quantile(0.99 * 1e0, sum by (namespace, le) (rate(a_bucket{x="}",y!~'b|c'}[5m])))
		/ on(pod) group_left (node) (b == bool 0 and c{} offset 15m) or label_replace(count(d), "e", "f", "g", "h") > 0.5`)
	require.NoError(t, err)
	require.Equal(t, asked{
		selectors: []selector{
			{"a_bucket", []matcher{{"x", "=", "}"}, {"y", "!~", "b|c"}}}, {metric: "b"}, {metric: "c"}, {metric: "d"},
		},
		grouped: [][]string{{"namespace", "le"}, {"pod"}, {"node"}},
		by:      [][]string{{"namespace", "le"}},
	}, got)
	for _, bad := range []string{`{x="y"}`, `a{x}`, `a{x="y"`, `sum by (x`, `a["`, `"`, `a;`, `a{"x"}`} {
		_, err := readPromQL(bad)
		require.Error(t, err, bad)
	}
}
