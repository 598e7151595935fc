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

// Survey is what one look at Redis finds beyond what the probe does, for sidecar doctor.
type Survey struct {
	// Nodes are the servers that execute scripts, in the order of their addresses.
	Nodes []NodeSurvey
	// Uncovered are the slots of a cluster that have no master: 0-5460, 7000.
	Uncovered []string
	// Sentinels are those of the URL, in its order.
	Sentinels []SentinelSurvey
	// Trouble is that of the cluster as a whole, of no single node; nil if there is none.
	Trouble *Trouble
}

// NodeSurvey is one server.
type NodeSurvey struct {
	Address string
	// Trouble is what its probe found, nil if nothing. The rest is known only of a server
	// that answers, and a part of it only if the user may ask for it.
	Trouble *Trouble
	Up      bool
	// Info are the fields of INFO; nil = it could not be read.
	Info map[string]string
	// RTT is the shortest of several round trips. Skew is how far the server's clock is
	// ahead of this machine's; Clocked says that it is known.
	RTT     time.Duration
	Skew    time.Duration
	Clocked bool
	// Refused are the commands that no script needs, and that the server refused, with its
	// reason: INFO, WAIT, PUBLISH, SUBSCRIBE.
	Refused map[string]*Trouble
}

// SentinelSurvey is one sentinel.
type SentinelSurvey struct {
	Address string
	// Trouble is why it does not name a master, nil if it does.
	Trouble *Trouble
	Master  string // the address that it names
	// NoQuorum is what it says if no failover could come about.
	NoQuorum string
	// Flags are those of the master, such as master,o_down; empty = the user may not ask.
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

// Survey looks at every server and sentinel, side by side, within ctx. It changes nothing,
// but that it publishes an empty message to the channel, to which nobody listens. Now is the clock of this
// machine.
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

// uncovered are the ranges of slots without a master.
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

// trips is how many round trips are measured: the shortest is that of the way, the others
// may have waited for a processor.
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

// subscribes tries to listen to a channel, over a connection of its own.
func (n *node) subscribes(ctx context.Context, channel string) error {
	sub := n.probe.Subscribe(ctx)
	defer func() { _ = sub.Close() }()
	if err := sub.Subscribe(ctx, channel); err != nil {
		return err
	}
	_, err := sub.ReceiveTimeout(ctx, n.of.connector.opt.CommandTimeout)
	return err
}

// hasAllSlots reports whether this node of a cluster serves every key, so that an address without
// a cluster does for it. Where it may not be asked, it is taken to.
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
		return v // a user that may not ask has no fault
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

// Speaks asks an address of this store whether it answers without TLS, and whether it
// answers a TLS handshake: what a connection of the wrong kind cannot tell.
func (s *Store) Speaks(ctx context.Context, addr string) (plain, secure bool) {
	c := s.connector
	ask := func(secured bool) bool {
		// A server of the other kind waits for more, and says nothing.
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

// otherKind is how long a server may take to answer a connection that may be of the wrong kind.
const otherKind = 2 * time.Second

// pongs reports whether what is at the other end answers as a Redis without TLS does: with
// a reply, which may be an error.
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
	// Keys are those without a TTL, at most as many as were asked for; Found is how many there
	// are among the Looked at.
	Keys          []string
	Found, Looked int
	// Whole: every key was looked at.
	Whole bool
}

// ScanUntimed looks for keys that match a pattern, have no TTL and are none that may stay. It stops
// after about most keys, of any kind, and returns at most show of what it finds.
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

// withoutTTL are the keys that have none, each asked at the node that has it.
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
			if a.Val() == -1 { // -2 is a key that has ended meanwhile
				lasting = append(lasting, keys[i])
			}
		}
	}
	return lasting, nil
}
