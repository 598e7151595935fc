package lua

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// probing asks whether commands may be run and writes are taken.
var probing = Define[probeIn, probeOut](files, Source{Name: "probe", Idempotent: true})

// probeIn has the commands that scripts run, joined by spaces.
type probeIn struct {
	Scratch  string `lua:"key"` // nothing is ever written there
	Commands string
}

// probeOut has the commands that the server does not know and those that the user may
// not run, joined by spaces.
type probeOut struct{ Unknown, Denied string }

// runs are the commands of a script's text.
var runs = regexp.MustCompile(`redis\.call\('([A-Z]+)'`)

// commandsOf are what a script runs, without PUBLISH: scripts do without it.
func commandsOf(text string) []string {
	var list []string
	for _, m := range runs.FindAllStringSubmatch(text, -1) {
		list = append(list, m[1])
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// bars is the trouble that keeps a script from this node: it would stop in the
// middle, at a command that the user may not run, and leave what it wrote before.
func (n *node) bars(s *Source) *Trouble {
	t := n.condition.Load().trouble
	if t == nil || len(t.commands) == 0 {
		return nil
	}
	for _, c := range s.commands() {
		if slices.Contains(t.commands, c) {
			return t
		}
	}
	return nil
}

// tryWriting finds out whether calls are refused though Redis answers.
func (n *node) tryWriting(ctx context.Context) error {
	key, ok := n.scratchKey()
	if !ok {
		return nil
	}
	cmd := sha1Call{redis.NewCmd(ctx, command(n.of, probing, probeIn{key, n.of.commands}, Latch{})...)}
	err := n.probe.Process(ctx, cmd)
	switch f := n.judge(err); {
	case f.verdict == answered:
	case f.why == whyNoScript, f.why == "tryagain", n.of.ring != nil && (f.why == whyMoved || f.why == whyAsk):
		return nil // the next round knows
	default:
		return f.trouble()
	}
	out, _, err := decode(probing, cmd.Val())
	switch {
	case err != nil:
		return fmt.Errorf("script probe: %w", err)
	case out.Unknown != "":
		return denied(whyNoCommand, strings.Fields(out.Unknown))
	case out.Denied != "":
		return denied(whyDenied, strings.Fields(out.Denied))
	}
	return nil
}

// scratchKey is one that this node serves; false while a cluster's has no slot.
// About as many numbers are tried as the cluster has masters.
func (n *node) scratchKey() (string, bool) {
	for range slotCount {
		key := n.of.scratchKey("probe" + strconv.Itoa(n.scratch))
		if n.of.ring == nil || n.of.ring.slots[slotOf(key)].Load() == n {
			return key, true
		}
		n.scratch = (n.scratch + 1) % slotCount
	}
	return "", false
}
