package chaostest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
)

const (
	// KillMaster is the fault that a run of streams has once if its topology has it.
	KillMaster = "kill master"
	// bulk is the stream of such a run. In a cluster it is on the master that KillMaster hits as its first target.
	bulk = "a"
	// consumers is the number of consumers, and killEvery the time between two kills of one.
	consumers = 12
	killEvery = time.Second
	// publishingTakes is how long publishing takes, so that there is time for kills. If there are so few messages that
	// they would come slower than slowest (messages a second), they are published at that rate.
	publishingTakes = 100 * time.Second
	slowest         = 200
	// oncePoison is the number of messages of which one is poison.
	oncePoison = 500
	// leastMessages is enough for some poison, and for the time that kills need.
	leastMessages = 1000
	bulkVisible   = 10 * time.Second
	bulkDelivered = 5
	// masterAway is how long a killed master is down at least. It is longer than a cluster takes to replace the master;
	// otherwise the cluster would go on with the old one, which comes back empty.
	masterAway = 6 * time.Second
	// stalled is the shortest stall of the machine that may end a delivery.
	stalled = bulkVisible / 10
	// stuck is how long a run may go on without progress.
	stuck = 2 * time.Minute
)

// streamRun is a run of streams under way.
type streamRun struct {
	*run
	consumers []*consumer
	published atomic.Int64
	lossy     Span
	kills     int
	found     []Violation // guarded by mu
}

// RunStreams publishes o.Messages messages to two groups whose consumers are processes. One consumer is killed every
// second; two sidecars, and the master of Redis if the topology has that fault, are killed once each. RunStreams fails
// the test for every promise of streams that was broken.
func RunStreams(t testing.TB, o Options, top Topology) {
	t.Helper()
	s := &streamRun{run: &run{
		Options: o, t: t, top: top, dir: t.TempDir(), history: NewHistory(), counts: make(map[string]int),
	}, lossy: Span{Never, Never}}
	s.begin()
	c, err := client.Dial(t.Context(), client.Options{Socket: s.sidecars[0].Socket(), Client: "chaos", Instance: "looks"})
	if err == nil {
		defer func() { _ = c.Close() }()
		err = openGroups(t.Context(), c, bulk, bulkDelivered, bulkVisible)
	}
	if err == nil {
		err = s.beginConsumers()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("chaos: seed %d, topology %s, TLS %t, %d messages, %d sidecars, %d consumers", o.Seed, o.Topology, o.Secure(), o.Messages, len(s.sidecars), consumers)

	watching, unwatch := context.WithCancel(context.Background())
	var watch sync.WaitGroup
	watch.Go(func() { s.stalls.Watch(watching, s.history.Now) })
	s.work(c)
	s.stop()
	unwatch()
	watch.Wait()
	s.fail("left", s.history.leftIn(t.Context(), c, top, bulk))
	figures, found := s.told().AtLeastOnce()
	t.Logf("chaos: %s: %d kills of consumers, %s", at(s.history.Now()), s.kills, figures)
	if found = slices.Concat(s.found, s.history.Strange, found, s.nothing(figures)); len(found) > 0 {
		s.report(nil, found)
	}
}

// fail records an error as a violation.
func (s *streamRun) fail(what string, err error) {
	if err == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.found = append(s.found, Violation{Rule: "streams", What: what + ": " + err.Error()})
}

// beginConsumers starts the consumers, as many for each sidecar, each group, and each of the two ways to get messages.
func (s *streamRun) beginConsumers() error {
	path, err := build(s.t.Context(), s.dir, "consumer", "internal/chaostest/consumer")
	if err != nil {
		return err
	}
	for i := range consumers {
		group := feedGroups[i%len(feedGroups)]
		c := &consumer{name: fmt.Sprintf("consumer%02d", i), group: group, dir: s.dir, cmd: []string{
			path, "-socket", s.sidecars[i%len(s.sidecars)].Socket(), "-stream", bulk, "-group", group,
			"-push=" + strconv.FormatBool(i < consumers/2), "-start", strconv.FormatInt(s.history.start.UnixNano(), 10),
			"-deliveries", strconv.Itoa(bulkDelivered), "-visibility", bulkVisible.String(),
		}}
		if err := c.start(); err != nil {
			return err
		}
		s.t.Cleanup(c.run.kill)
		s.consumers = append(s.consumers, c)
	}
	return nil
}

// work publishes, and injects faults, until all messages were handled.
func (s *streamRun) work(c *client.Client) {
	var publishing, harming, killing sync.WaitGroup
	for i, sidecar := range s.sidecars {
		publishing.Go(func() { s.fail("publish", s.publishAll(i, sidecar)) })
	}
	harming.Go(s.harmAll)
	over := make(chan struct{})
	killing.Go(func() { s.killAll(over) })
	publishing.Wait()
	harming.Wait()
	s.t.Logf("chaos: %s: all is published", at(s.history.Now()))
	s.fail("delivering", s.await(c, delivered))
	close(over)
	killing.Wait()
	s.fail("finishing", s.await(c, func(ctx context.Context, c *client.Client) (string, error) {
		err := finished(ctx, c, bulk)
		return fmt.Sprint(err), err
	}))
}

// delivered returns an error while a group was not given all messages, and its text, which has the numbers.
func delivered(ctx context.Context, c *client.Client) (string, error) {
	st, err := c.StreamStats(ctx, api.StreamStatsParams{Stream: bulk})
	if err != nil {
		return "", err
	}
	for _, g := range st.Groups {
		if g.Lag != 0 {
			err = errors.Join(err, fmt.Errorf("group %s: %d messages were not delivered, and %d not acknowledged", g.Group, g.Lag, g.Pending))
		}
	}
	return fmt.Sprint(err), err
}

// await repeats a question until it returns no error, or its text has not changed for the time stuck.
func (s *streamRun) await(c *client.Client, question func(context.Context, *client.Client) (string, error)) error {
	last, since := "", time.Now()
	for {
		ctx, cancel := context.WithTimeout(s.t.Context(), patience)
		state, err := question(ctx, c)
		cancel()
		switch {
		case err == nil:
			return nil
		case state != last:
			last, since = state, time.Now()
		case time.Since(since) > stuck:
			return err
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// publishAll publishes the messages of one producer through a sidecar.
func (s *streamRun) publishAll(producer int, to *Sidecar) error {
	ctx := s.t.Context()
	c, err := client.Dial(ctx, client.Options{Socket: to.Socket(), Client: "chaos", Instance: fmt.Sprintf("producer%d", producer)})
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	rnd := rand.New(rand.NewPCG(s.Seed, uint64(producer)))
	var all []Posted
	var again []api.StreamNewMessage // messages of the last batch that are published again with the next one
	began, perSecond := s.history.Now(), max(s.Messages/int(publishingTakes/time.Second), slowest)
	for n := producer; n < s.Messages; {
		batch, first := again, len(again)
		again = nil
		for most := first + 1 + rnd.IntN(64); len(batch) < most && n < s.Messages; n += len(s.sidecars) {
			id := fmt.Sprintf("m%06d", n)
			if n%oncePoison == int(s.Seed%oncePoison) {
				id += poisonous
			}
			m := api.StreamNewMessage{Body: bodyOf(id)}
			if rnd.IntN(20) == 0 {
				m.DelayMS = 1 + rnd.Int64N(3000)
			}
			if rnd.IntN(10) == 0 {
				m.DedupeID = id
				again = append(again, m)
			}
			batch = append(batch, m)
		}
		call := s.history.Now()
		if err := publishSurely(ctx, c, fmt.Sprintf("batch-%d-%d", producer, n), batch); err != nil {
			return err
		}
		for _, m := range batch[first:] {
			all = append(all, Posted{Stream: bulk, ID: idIn(m.Body), Call: call, Return: s.history.Now()})
		}
		s.published.Add(int64(len(batch) - first))
		ahead := time.Duration(len(all)) * time.Second * time.Duration(len(s.sidecars)) / time.Duration(perSecond)
		time.Sleep(began + ahead - s.history.Now())
	}
	s.history.add(func() { s.history.Posted = append(s.history.Posted, all...) })
	return nil
}

// publishSurely repeats one call until all its messages were published, or found to be published already.
func publishSurely(ctx context.Context, c *client.Client, requestID string, messages []api.StreamNewMessage) error {
	ctx, cancel := context.WithTimeout(ctx, stuck)
	defer cancel()
	p := api.StreamPublishManyParams{Stream: bulk, Messages: messages}
	return until(ctx, func() error {
		results, err := c.StreamPublishMany(client.WithRequestID(ctx, requestID), p)
		for _, one := range results {
			if one.Error != nil {
				err = errors.Join(err, fmt.Errorf("%s: %s", one.Error.Code, one.Error.Message))
			}
		}
		return err
	})
}

// killAll kills a consumer every second, and starts it again.
func (s *streamRun) killAll(over <-chan struct{}) {
	rnd := rand.New(rand.NewPCG(s.Seed, consumers))
	t := time.NewTicker(killEvery)
	defer t.Stop()
	for {
		select {
		case <-t.C:
		case <-over:
			return
		}
		c := s.consumers[rnd.IntN(len(s.consumers))]
		from := s.history.Now()
		c.run.kill()
		s.history.add(func() { s.history.Cuts = append(s.history.Cuts, Span{from, s.history.Now()}) })
		s.kills++
		if err := c.start(); err != nil {
			s.fail("kill", err)
			return
		}
		s.t.Cleanup(c.run.kill)
	}
}

// harmAll kills a sidecar when a quarter of the messages is published, the master of Redis at a half, and a sidecar at
// three quarters.
func (s *streamRun) harmAll() {
	rnd := rand.New(rand.NewPCG(s.Seed, consumers+1))
	for quarter := 1; quarter <= 3; quarter++ {
		for s.published.Load() < int64(s.Messages*quarter/4) && s.t.Context().Err() == nil {
			time.Sleep(10 * time.Millisecond)
		}
		from := s.history.Now()
		what := "kill sidecar"
		if quarter == 2 {
			if !s.mayFail() {
				continue
			}
			what = KillMaster
			s.fail(what, s.killMaster())
		} else {
			victim := s.sidecars[rnd.IntN(len(s.sidecars))]
			victim.Kill()
			s.fail(what, errors.Join(victim.Start(), victim.Ready(s.t.Context())))
		}
		s.harm = append(s.harm, Span{from, s.history.Now()})
		s.note(Event{N: quarter, At: from, Fault: what}, "ended", nil)
		s.t.Logf("chaos: %s..%s %s", at(from), at(s.history.Now()), what)
	}
}

func isKillMaster(f Fault) bool { return f.Name == KillMaster }

// mayFail reports whether there is another server to take over from the master.
func (s *streamRun) mayFail() bool { return slices.ContainsFunc(s.top.Faults, isKillMaster) }

// killMaster kills the master, starts it again, and returns when all sidecars work again.
func (s *streamRun) killMaster() error {
	i := slices.IndexFunc(s.top.Faults, isKillMaster)
	s.lossy.From = s.history.Now()
	end, err := s.top.Faults[i].Begin(Event{Fault: KillMaster})
	if err != nil {
		return err
	}
	time.Sleep(masterAway)
	err = end()
	for i, sidecar := range s.sidecars {
		err = errors.Join(err, healed(s.t.Context(), sidecar, fmt.Sprintf("healed/%d", i)))
	}
	s.lossy.Till = s.history.Now() + s.top.Overlap
	return err
}

// stop ends the consumers, and reads their journals into the history.
func (s *streamRun) stop() {
	for _, c := range s.consumers {
		s.fail("stop", c.stop())
		handled, left, err := c.journals()
		s.fail("journal", err)
		s.history.Handled = append(s.history.Handled, handled...)
		s.history.Cuts = append(s.history.Cuts, left...)
	}
}

// told returns the history of the messages.
func (s *streamRun) told() *Messages {
	h := s.history
	m := &Messages{
		Groups: feedGroups, MaxDeliveries: bulkDelivered, Posted: h.Posted, Handled: h.Handled, Logs: h.Logs, Letters: h.Letters,
		Cuts: h.Cuts, Lossy: s.lossy, Harm: slices.Concat(s.harm, s.stalls.spans(stalled)),
	}
	if s.lossy.From != Never {
		m.Harm = append(m.Harm, s.lossy)
	}
	return m
}

// nothing reports a run that shows nothing.
func (s *streamRun) nothing(f Figures) []Violation {
	var found []Violation
	for what, n := range map[string]int{"kills": s.kills, "messages in flight at them": f.InFlight, "dead letters": f.Dead, "retries": f.Nacked} {
		if n == 0 {
			found = append(found, Violation{Rule: "work", What: what + ": there were none: the run shows nothing"})
		}
	}
	return found
}

// journalsIn returns the files of consumers, which are their journals and logs.
func journalsIn(dir string) []string {
	files, _ := filepath.Glob(filepath.Join(dir, "consumer*.*")) // the only error is that of a malformed pattern
	return files
}
