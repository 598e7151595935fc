package redis

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// Survey is what sidecar doctor finds about Redis beyond what the probe finds.
type Survey struct {
	// Nodes are the servers that execute scripts, in the order of their addresses.
	Nodes []NodeSurvey
	// Uncovered are the slots of a cluster that have no master: 0-5460, 7000.
	Uncovered []string
	// Sentinels are those of the URL, in its order.
	Sentinels []SentinelSurvey
	// Trouble is the trouble of the cluster as a whole, not that of a node; nil if there is none.
	Trouble *Trouble
}

// NodeSurvey is one server.
type NodeSurvey struct {
	Address string
	// Trouble is what its probe found; nil if nothing. The other fields are set only if the
	// server replies, and some of them only if the user may run the command.
	Trouble *Trouble
	Up      bool
	// Info are the fields of INFO; nil = it could not be read.
	Info map[string]string
	// RTT is the shortest of several round trips. Skew is how far the server's clock is
	// ahead of this machine's. Clocked is set if both were measured.
	RTT     time.Duration
	Skew    time.Duration
	Clocked bool
	// Refused are those commands of INFO, WAIT, PUBLISH and SUBSCRIBE that the server
	// refused, with the reason. No script needs them.
	Refused map[string]*Trouble
}

// SentinelSurvey is one sentinel.
type SentinelSurvey struct {
	Address string
	// Trouble is why it does not name a master, nil if it does.
	Trouble *Trouble
	Master  string // the address that it names
	// NoQuorum is its error if no failover would be possible.
	NoQuorum string
	// Flags are those of the master, such as master,o_down; empty = the user may not read them.
	Flags    string
	Replicas int // -1 = not known
}

// Settle waits until every server was probed once, or ctx ends.
func (s *Store) Settle(ctx context.Context) {
	if s.ring != nil && !probed(ctx, s.ring.state.Load) {
		return
	}
	for _, n := range s.nodes() {
		if !probed(ctx, n.condition.Load) {
			return
		}
	}
}

// probed waits for the first probe; false = ctx ended before.
func probed(ctx context.Context, load func() *condition) bool {
	for c := load(); !c.known; c = load() {
		select {
		case <-c.changed:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// Survey examines all servers and sentinels concurrently, within ctx. It changes nothing;
// it publishes an empty message to channel, which must have no subscribers. now is the clock
// of this machine.
func (s *Store) Survey(ctx context.Context, channel string, now func() time.Time) Survey {
	var v Survey
	var all sync.WaitGroup
	nodes := s.nodes()
	v.Nodes = make([]NodeSurvey, len(nodes))
	for i, n := range nodes {
		all.Go(func() { v.Nodes[i] = n.survey(ctx, channel, now) })
	}
	if s.sentinels != nil {
		addrs := s.connector.target.Addrs
		v.Sentinels = make([]SentinelSurvey, len(addrs))
		for i, addr := range addrs {
			all.Go(func() { v.Sentinels[i] = s.sentinels.survey(ctx, addr) })
		}
	}
	all.Wait()
	if s.ring != nil {
		v.Uncovered = s.ring.uncovered()
		v.Trouble = s.ring.trouble()
	}
	return v
}

// uncovered returns the ranges of slots without a master.
func (g *ring) uncovered() (spans []string) {
	for i := 0; i < slotCount; i++ {
		first := i
		for i < slotCount && g.slots[i].Load() == nil {
			i++
		}
		switch i - first {
		case 0:
		case 1:
			spans = append(spans, strconv.Itoa(first))
		default:
			spans = append(spans, fmt.Sprintf("%d-%d", first, i-1))
		}
	}
	return spans
}

// trips is how many round trips are measured: the shortest is the time of the network, the
// others may include waits for a processor.
const trips = 10

func (n *node) survey(ctx context.Context, channel string, now func() time.Time) NodeSurvey {
	c := n.condition.Load()
	v := NodeSurvey{Address: n.addr, Trouble: c.trouble, Up: c.up, Refused: map[string]*Trouble{}}
	if at, err := n.reach(); err == nil {
		v.Address = at
	}
	if !c.up || n.of.topology == Embedded {
		return v
	}
	for range trips {
		before := now()
		start := time.Now()
		at, err := n.probe.Time(ctx).Result()
		took := time.Since(start)
		if err != nil {
			break
		}
		if !v.Clocked || took < v.RTT {
			v.RTT, v.Skew, v.Clocked = took, at.Sub(before.Add(took/2)), true
		}
	}
	info, err := n.probe.Info(ctx).Result()
	if err == nil {
		v.Info = fields(info)
	}
	_, publishing := n.probe.Publish(ctx, channel, "").Result()
	for name, err := range map[string]error{
		"INFO": err, "WAIT": n.probe.Do(ctx, "wait", 0, 0).Err(), "PUBLISH": publishing, "SUBSCRIBE": n.subscribes(ctx, channel),
	} {
		if t := troubleOf(err); t.Name == whyDenied || t.Name == whyNoCommand {
			v.Refused[name] = t
		}
	}
	if v.Trouble == nil && n.of.ring == nil && v.Info["cluster_enabled"] == "1" && !n.hasAllSlots(ctx) {
		v.Trouble = newTrouble(whyWrongURL, nil)
	}
	return v
}

// subscribes tries to subscribe to a channel, over a connection of its own.
func (n *node) subscribes(ctx context.Context, channel string) error {
	sub := n.probe.Subscribe(ctx)
	defer func() { _ = sub.Close() }()
	if err := sub.Subscribe(ctx, channel); err != nil {
		return err
	}
	_, err := sub.ReceiveTimeout(ctx, n.of.connector.opt.CommandTimeout)
	return err
}

// hasAllSlots reports whether this node of a cluster serves every key, so that a URL of a single
// server works with it. If the user may not run CLUSTER NODES, it returns true.
func (n *node) hasAllSlots(ctx context.Context) bool {
	text, err := n.probe.ClusterNodes(ctx).Result()
	if err != nil {
		return true
	}
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) > 2 && strings.Contains(f[2], "myself") {
			return slices.Contains(f[min(8, len(f)):], fmt.Sprintf("0-%d", slotCount-1))
		}
	}
	return true
}

// survey asks one sentinel over a connection of its own.
func (s *sentinels) survey(ctx context.Context, addr string) SentinelSurvey {
	c := s.of.connector
	v := SentinelSurvey{Address: addr, Replicas: -1}
	a := c.adviser(addr, c.greetSentinel)
	defer func() { _ = a.close() }()
	at, err := s.ask(ctx, a)
	if err != nil {
		v.Trouble = troubleOf(err)
		return v
	}
	v.Master = at
	ctx, cancel := context.WithTimeout(ctx, c.opt.CommandTimeout)
	defer cancel()
	if err := a.client.Do(ctx, "sentinel", "ckquorum", c.target.Master).Err(); redis.HasErrorPrefix(err, "NOQUORUM") {
		v.NoQuorum = err.Error()
	}
	state, err := a.client.Do(ctx, "sentinel", "master", c.target.Master).StringSlice()
	if err != nil {
		return v // the user may not run it, which is not a fault
	}
	for pair := range slices.Chunk(state, 2) {
		switch pair[0] {
		case "flags":
			v.Flags = pair[1]
		case "num-slaves":
			v.Replicas, _ = strconv.Atoi(pair[1])
		}
	}
	return v
}

// Speaks reports whether the server at an address of this store replies without TLS, and
// whether it answers a TLS handshake. A failed connection of the wrong kind does not show that.
func (s *Store) Speaks(ctx context.Context, addr string) (plain, secure bool) {
	c := s.connector
	ask := func(secured bool) bool {
		// A server of the other kind waits for more data, and sends nothing.
		ctx, cancel := context.WithTimeout(ctx, min(c.opt.CommandTimeout, otherKind))
		defer cancel()
		raw, err := c.dialer.DialContext(ctx, c.target.Network, addr)
		if err != nil {
			return false
		}
		defer func() { _ = raw.Close() }()
		defer context.AfterFunc(ctx, func() { _ = raw.Close() })()
		if secured {
			return handshakes(ctx, raw)
		}
		return pongs(raw)
	}
	return ask(false), ask(true)
}

// otherKind bounds how long Speaks waits for a server that may be of the other kind.
const otherKind = 2 * time.Second

// pongs reports whether the other end replies as a Redis without TLS does; the reply may be
// an error.
func pongs(raw net.Conn) bool {
	if _, err := raw.Write([]byte("*1\r\n$4\r\nPING\r\n")); err != nil {
		return false
	}
	var first [1]byte
	n, err := raw.Read(first[:])
	return err == nil && n == 1 && (first[0] == '+' || first[0] == '-')
}

// Untimed is what ScanUntimed finds.
type Untimed struct {
	// Keys are keys without a TTL, at most as many as were asked for. Found is how many of
	// the Looked keys that were examined have none.
	Keys          []string
	Found, Looked int
	// Whole is set if every key was examined.
	Whole bool
}

// ScanUntimed searches for keys that match a pattern and have no TTL, without those for which
// stays returns true. It stops after about most keys, whether they match or not, and returns
// at most show of those that it found.
func (s *Store) ScanUntimed(ctx context.Context, pattern string, stays func(key string) bool, most, show int) (Untimed, error) {
	const step = 500
	var all Untimed
	cursor := ""
	for steps := 0; steps*step < most; steps++ {
		keys, next, err := s.Scan(ctx, pattern, cursor, step)
		if err != nil {
			return all, err
		}
		all.Looked += len(keys)
		keys = slices.DeleteFunc(keys, stays)
		lasting, err := s.withoutTTL(ctx, keys)
		if err != nil {
			return all, err
		}
		all.Found += len(lasting)
		all.Keys = append(all.Keys, lasting[:min(len(lasting), show-len(all.Keys))]...)
		if cursor = next; cursor == "" {
			all.Whole = true
			break
		}
	}
	return all, nil
}

// withoutTTL returns the keys that have no TTL. It asks the node of each key.
func (s *Store) withoutTTL(ctx context.Context, keys []string) (lasting []string, err error) {
	byNode := map[*node][]string{}
	for _, k := range keys {
		n := s.only
		if s.ring != nil {
			n = s.ring.slots[slotOf(k)].Load()
		}
		if n != nil {
			byNode[n] = append(byNode[n], k)
		}
	}
	for n, keys := range byNode {
		answers := make([]*redis.DurationCmd, len(keys))
		if _, err := n.probe.Pipelined(ctx, func(p redis.Pipeliner) error {
			for i, k := range keys {
				answers[i] = p.PTTL(ctx, k)
			}
			return nil
		}); err != nil {
			return nil, fmt.Errorf("pttl: %w", troubleOf(err))
		}
		for i, a := range answers {
			if a.Val() == -1 { // -2 is a key that has expired meanwhile
				lasting = append(lasting, keys[i])
			}
		}
	}
	return lasting, nil
}
