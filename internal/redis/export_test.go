package redis

import (
	"context"
	"maps"
	"net"
	"slices"
	"time"
)

// Tracked is a connection as the store uses it.
func Tracked(c net.Conn) net.Conn { return &conn{tracked: &tracked{Conn: c, of: &conns{}}} }

// ClosedInSetup returns the name of the trouble of a read that waits on a new connection, which the store closes
// because of the trouble named why.
func ClosedInSetup(c net.Conn, why string) string {
	all := newConns(func(context.Context) (net.Conn, error) { return c, nil })
	n := all.connect(context.Background())
	all.closeAll(newTrouble(why, nil), false)
	_, err := n.Read(make([]byte, 1))
	return classify(err).Why
}

// CertainlyNotRun reports whether a try that failed with err has the verdict NotRun.
func CertainlyNotRun(err error) bool { return classify(err).Verdict == NotRun }

// Suspect reports whether a failure with err starts a probe at once.
func Suspect(err error) bool { return classify(err).suspect() }

// SayAsGoRedis writes a line as go-redis writes its log.
func SayAsGoRedis(format string, args ...any) {
	libraryLog.Printf(context.Background(), format, args...)
}

// TroubleNames returns the names of all troubles.
func TroubleNames() []string { return slices.Sorted(maps.Keys(troubles)) }

// TroubleChecks returns the check of sidecar doctor for each trouble, by the name of the trouble; "sentinel/" comes
// before one of a sentinel.
func TroubleChecks() map[string]string {
	m := map[string]string{"cluster/" + whyNoMaster: noMaster.Check, "": newTrouble("", nil).Check}
	for name, k := range troubles {
		m[name] = k.check
	}
	for name, k := range bySentinels {
		m["sentinel/"+name] = k.check
	}
	return m
}

// Probes adds the results of probes to a history, and returns its list.
func Probes(probes ...Probed) []Probed {
	s := &Store{history: newHistory()}
	for _, p := range probes {
		s.history.probed(p)
	}
	return s.History()
}

// Running returns how many calls wait for a reply.
func Running(s *Store) int64 { return s.nodes()[0].running.Load() }

// ProbeText is the probe's script.
var ProbeText = probeText

// Item is a try that waits in a node's queue: its form for many, its keys, and how long it
// keeps the server busy.
type Item struct {
	Many  string
	Keys  []string
	Takes time.Duration
}

// Arrange returns, for each run of one pipeline, which of the items are in it. With apart,
// the server refuses keys of several slots in one command.
func Arrange(items []Item, apart bool) [][]int {
	n := &node{of: &Store{}}
	n.apart.Store(apart)
	b := newBatch(n)
	at := map[*queued]int{}
	for i, item := range items {
		q := &queued{args: []any{EvalSHA, item.Many, len(item.Keys)}, many: item.Many, takes: item.Takes}
		for _, k := range item.Keys {
			q.args = append(q.args, k)
		}
		at[q] = i
		b.items = append(b.items, q)
	}
	b.arrange()
	runs := make([][]int, len(b.runs))
	for i, r := range b.runs {
		for _, q := range r.items {
			runs[i] = append(runs[i], at[q])
		}
	}
	return runs
}

// IsSent reports whether a submitted try was sent.
func IsSent(t *Try) bool { return t.on.Load().state.Load() == stateSent }

// Dialled reports whether the reader has a connection.
func Dialled(r *Reader) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.conn != nil
}

// IsSuspect reports whether a trouble of that name starts a probe at once.
func IsSuspect(name string) bool { return troubles[name].suspect }
