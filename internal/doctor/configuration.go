package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/coxswain-sidecar/coxswain/internal/config"
)

const (
	configID   = "config"
	rulesID    = "rules"
	breakersID = "breakers"
)

// problems are the mistakes of a configuration, by the check that reports them.
type problems map[string]config.Problems

// sortedByCheck groups mistakes by the check that reports them.
func sortedByCheck(all config.Problems) problems {
	p := problems{}
	for _, x := range all {
		id := configID
		switch {
		case strings.HasPrefix(x.Path, "rules.items"):
			id = rulesID
		case strings.HasPrefix(x.Path, "breakers.items"):
			id = breakersID
		}
		p[id] = append(p[id], x)
	}
	return p
}

// tell returns the problem of a check, nil if there is none.
func (p problems) tell(id string) error {
	all := p[id]
	if len(all) == 0 {
		return nil
	}
	return failure(id, all.Error(), "correct each at the place that it names; `sidecar config check FILE` shows them again")
}

// configuration reads the configuration as serve does. If only rules or policies have mistakes, the later checks still
// use the rest of it.
func (e *examination) configuration(context.Context) (string, error) {
	src := e.o.Sources
	src.Opened = func(path string, _ fs.FileInfo) { e.files = append(e.files, path) }
	c, err := config.Load(src, e.o.Rules)
	var all config.Problems
	if errors.As(err, &all) {
		e.problems = sortedByCheck(all)
		src.Opened = nil
		c, err = config.Load(src)
	}
	if err != nil {
		if told := e.problems.tell(configID); told != nil {
			return e.named(), told
		}
		return e.named(), unknown("mistakes in rules or breakers keep it from being read; they are told below")
	}
	e.config = c
	return e.named(), e.problems.tell(configID)
}

// named describes the source of the configuration.
func (e *examination) named() string {
	if len(e.files) == 0 {
		return "no file; defaults, environment and flags"
	}
	return strings.Join(e.files, ", ")
}

func (e *examination) marks(context.Context) (string, error) {
	if len(e.files) == 0 {
		return "", errAbsent
	}
	for _, file := range e.files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // the check of the configuration reports it
		}
		if p := config.Mark(text); p != nil {
			p.Cause = file + " " + p.Cause
			return "", p
		}
	}
	return "none", nil
}

func (e *examination) rules(context.Context) (string, error) {
	return e.items(rulesID, "rule", func(c *config.Config) int { return len(c.Rules.Items) })
}

func (e *examination) breakers(context.Context) (string, error) {
	return e.items(breakersID, "policy", func(c *config.Config) int { return len(c.Breakers.Items) })
}

// items reports on one list of the configuration. A mistake in the list may be the reason why the configuration could
// not be read.
func (e *examination) items(id, what string, number func(*config.Config) int) (string, error) {
	err := e.problems.tell(id)
	switch {
	case e.config != nil:
		return count(number(e.config), what), err
	case err == nil:
		err = stoppedBy(configID)
	}
	return "", err
}

// count returns a number with its noun, in the plural if needed, such as "2 policies".
func count(n int, what string) string {
	switch {
	case n == 1:
	case strings.HasSuffix(what, "cy"):
		what = strings.TrimSuffix(what, "y") + "ies"
	default:
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}
