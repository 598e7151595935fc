package redis

import (
	"context"
	"crypto/sha1" //nolint:gosec // Redis names scripts by their SHA-1; nothing is secured by it.
	_ "embed"     // for probe.lua
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// probeText is a script that checks whether the user may run the commands of the scripts,
// and whether the server accepts writes.
//
//go:embed probe.lua
var probeText string

var probeSHA = func() string {
	sum := sha1.Sum([]byte(probeText)) //nolint:gosec // see the import
	return hex.EncodeToString(sum[:])
}()

// withProbe adds the probe's script and the command that it runs.
func (s Scripts) withProbe() Scripts {
	return Scripts{
		Texts:    append(slices.Clone(s.Texts), probeText),
		SHAs:     append(slices.Clone(s.SHAs), probeSHA),
		Commands: slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(s.Commands), "SET")))),
	}
}

// bars returns the trouble that forbids a script with these commands on this node, nil if
// there is none: the user may not run one of the commands, and the script would stop there
// and leave what it wrote before.
func (n *node) bars(runs func() []string) *Trouble {
	t := n.condition.Load().trouble
	if t == nil || len(t.commands) == 0 || runs == nil {
		return nil
	}
	for _, c := range runs() {
		if slices.Contains(t.commands, c) {
			return t
		}
	}
	return nil
}

// tryWriting runs the script of the probe. It returns the trouble if the node replies but
// refuses calls.
func (n *node) tryWriting(ctx context.Context) error {
	key, ok := n.scratchKey()
	if !ok {
		return nil
	}
	cmd := sha1Call{redis.NewCmd(ctx, EvalSHA, probeSHA, 1, key, strings.Join(n.of.scripts.Commands, " "))}
	err := n.probe.Process(ctx, cmd)
	switch f := n.judge(err); {
	case f.Verdict == Answered:
	case f.Why == whyNoScript, f.Why == "tryagain", n.of.ring != nil && (f.Why == whyMoved || f.Why == whyAsk):
		return nil // the next round finds out
	default:
		return f.trouble()
	}
	lists, err := cmd.StringSlice()
	switch {
	case err != nil:
		return fmt.Errorf("script probe: %w", err)
	case len(lists) != 2:
		return fmt.Errorf("script probe: reply: %d values, not 2", len(lists))
	case lists[0] != "":
		return denied(whyNoCommand, strings.Fields(lists[0]))
	case lists[1] != "":
		return denied(whyDenied, strings.Fields(lists[1]))
	}
	return nil
}

// scratchKey returns a key that this node serves, and false while a node of a cluster has
// no slot. It tries about as many numbers as the cluster has masters.
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
