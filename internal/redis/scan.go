package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// ErrCursor: the text is not a cursor that Scan returned.
var ErrCursor = errors.New("not a cursor")

// scanned is a node and its position in a scan. In a cluster the position is the lowest
// slot of the node, which stays the same when a replica takes over.
type scanned struct {
	first int
	node  *node
}

// scanNodes returns the nodes that have keys, by position.
func (s *Store) scanNodes() []scanned {
	if s.ring == nil {
		return []scanned{{0, s.only}}
	}
	var list []scanned
	known := map[*node]bool{}
	for slot := range s.ring.slots {
		if n := s.ring.slots[slot].Load(); n != nil && !known[n] {
			known[n] = true
			list = append(list, scanned{slot, n})
		}
	}
	return list
}

// Scan returns the keys that match a pattern, step by step and node by node. The cursor
// is empty for the first step, and next of the previous step for each other one; next is
// empty after the last step. One step looks at about count keys, whether they match or not.
// A key that exists during the whole scan is returned at least once, unless slots or
// masters change meanwhile.
//
// Errors: ErrCursor; ErrUnavailable; the context's.
func (s *Store) Scan(ctx context.Context, pattern, cursor string, count int) (keys []string, next string, err error) {
	first, at, err := parseCursor(cursor)
	if err != nil {
		return nil, "", err
	}
	// Before the first probe has ended a scan waits for it, as all calls do.
	if _, err := s.route(ctx, pattern, false); err != nil {
		var down *unsent
		if errors.As(err, &down) {
			err = fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
		return nil, "", fmt.Errorf("scan: %w", err)
	}
	nodes := s.scanNodes()
	if s.ring != nil {
		if down := s.ring.trouble(); down != nil {
			return nil, "", fmt.Errorf("scan: %w: %w", ErrUnavailable, down)
		}
	}
	i, same := slices.BinarySearchFunc(nodes, first, func(n scanned, slot int) int { return n.first - slot })
	if i == len(nodes) {
		return nil, "", nil
	}
	if !same {
		at = 0 // the node of the cursor has lost this slot
	}
	n := nodes[i].node
	if c := n.condition.Load(); c.down() {
		return nil, "", fmt.Errorf("scan: %w: %w", ErrUnavailable, c.trouble)
	}
	n.running.Add(1)
	keys, at, err = n.client.Scan(ctx, at, pattern, int64(count)).Result()
	n.running.Add(-1)
	switch f := n.judge(err); {
	case err == nil:
	case ctx.Err() != nil:
		return nil, "", fmt.Errorf("scan: %w", ctx.Err())
	case f.Verdict == Fault:
		return nil, "", fmt.Errorf("scan: %w", err)
	default: // SCAN changes nothing, so that it does not matter whether it ran
		if f.suspect() {
			n.look()
		}
		return nil, "", fmt.Errorf("scan: %w: %w", ErrUnavailable, f.trouble())
	}
	switch {
	case at != 0:
		next = formatCursor(nodes[i].first, at)
	case i+1 < len(nodes):
		next = formatCursor(nodes[i+1].first, 0)
	}
	return keys, next, nil
}

func formatCursor(first int, at uint64) string {
	return strconv.Itoa(first) + "." + strconv.FormatUint(at, 10)
}

func parseCursor(text string) (first int, at uint64, err error) {
	if text == "" {
		return 0, 0, nil
	}
	slot, rest, ok := strings.Cut(text, ".")
	first, err = strconv.Atoi(slot)
	if err == nil {
		at, err = strconv.ParseUint(rest, 10, 64)
	}
	if !ok || err != nil || first < 0 || first >= slotCount {
		return 0, 0, ErrCursor
	}
	return first, at, nil
}
