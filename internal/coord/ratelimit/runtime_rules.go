package ratelimit

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

const (
	// rulesPoll is how often the rules in Redis are read if no broadcast comes.
	rulesPoll = time.Second
	// loadTime is the time limit of a read in the background.
	loadTime = 5 * time.Second
	// firstLook is for how long after the start calls wait for the rules in Redis, instead of
	// failing because there is no such rule.
	firstLook = time.Second
	// maxKept is how many rules Redis may have, since a script reads all of them.
	maxKept = 999
	// topicRules is the topic of broadcasts about rules.
	topicRules = "rules"
)

// RuntimeRulesOptions are the dependencies of RuntimeRules.
type RuntimeRulesOptions struct {
	Runner  *lua.Runner
	Keys    coord.Keys
	Rules   *Rules
	Signals *coord.Signals // nil = changes by other sidecars take effect within a second
	Events  *coord.Events  // may be nil
	Log     *slog.Logger   // nil = none
	Clock   coord.Clock    // nil = the pod's
}

// RuntimeRules keeps the rules in force in step with those in Redis, which any sidecar may
// change: at once if the broadcast arrives, and within a second otherwise. While Redis does not
// reply, the rules that were read last stay in force.
type RuntimeRules struct {
	o   RuntimeRulesOptions
	key string

	ctx    context.Context // ends with Stop
	cancel context.CancelFunc
	woken  chan struct{} // has an item while the rules may have changed
	done   chan struct{}

	// mu guards the fields below. It is held while Redis is read, so that an older reply is
	// never put in force after a newer one.
	mu    sync.Mutex
	known int64               // the revision that was read last; -1 = none
	kept  map[string]KeptRule // the rules that were read last
}

// NewRuntimeRules returns RuntimeRules, which read the rules in the background until Stop.
func NewRuntimeRules(o RuntimeRulesOptions) *RuntimeRules {
	if o.Clock == nil {
		o.Clock = coord.SystemClock{}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	r := &RuntimeRules{
		o: o, key: keys{o.Keys}.rules(), known: -1,
		woken: make(chan struct{}, 1), done: make(chan struct{}),
	}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	if o.Signals != nil {
		o.Signals.OnForget(func(topic, _ string) {
			if topic == topicRules {
				r.wake()
			}
		}, r.wake)
	}
	looked := o.Rules.expect()
	o.Clock.AfterFunc(firstLook, looked)
	go r.follow(looked)
	return r
}

// Methods returns the methods that change rules.
func (r *RuntimeRules) Methods() []coord.Method {
	return []coord.Method{
		coord.On(api.RatelimitPutRule, r.Put, coord.Edits, limited),
		coord.On(api.RatelimitDeleteRule, r.Delete, coord.Edits, limited),
	}
}

// Stop ends the reading; the rules stay in force.
func (r *RuntimeRules) Stop() {
	r.cancel()
	<-r.done
}

func (r *RuntimeRules) wake() {
	select {
	case r.woken <- struct{}{}:
	default:
	}
}

// follow reads the rules repeatedly, and calls looked after the first read.
func (r *RuntimeRules) follow(looked func()) {
	defer close(r.done)
	for {
		ctx, cancel := context.WithTimeout(r.ctx, loadTime)
		_ = r.load(ctx) // read again in a second; an outage of Redis is reported elsewhere
		cancel()
		looked()
		stop := r.o.Clock.AfterFunc(rulesPoll, r.wake)
		select {
		case <-r.woken:
			stop()
		case <-r.ctx.Done():
			stop()
			return
		}
	}
}

// load reads the rules in Redis, and puts them in force if they changed.
func (r *RuntimeRules) load(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	out, err := lua.Attempt(ctx, r.o.Runner, RulesScript, RulesIn{Rules: r.key, Known: r.known}, lua.StoredReply{})
	if err != nil {
		return coord.Failed("ratelimit: rules", err)
	}
	if out.Value.Revision == r.known {
		return nil
	}
	rules := out.Value.Rules()
	kept := make(map[string]keptRule, len(rules))
	seen := make(map[string]KeptRule, len(rules))
	var changed []string
	for _, k := range rules {
		seen[k.Name] = k
		was := r.kept[k.Name]
		if was != k {
			changed = append(changed, k.Name)
		}
		kept[k.Name] = r.read(k, was)
	}
	for name := range r.kept {
		if _, still := seen[name]; !still {
			changed = append(changed, name)
		}
	}
	r.o.Rules.keep(kept)
	r.reportChanges(changed)
	r.known, r.kept = out.Value.Revision, seen
	return nil
}

// read parses a rule of Redis. It logs one that it cannot read, unless the text before was the
// same.
func (r *RuntimeRules) read(k, was KeptRule) keptRule {
	x := keptRule{revision: k.Revision, absent: k.Deleted}
	if k.Deleted {
		return x
	}
	var err error
	if x.options, err = readRule(k.Name, k.Text); err == nil {
		return x
	}
	if k != was {
		r.o.Log.Error("a rule in redis is not in force here: this version cannot read it; put it again, or delete it",
			"rule", k.Name, "revision", k.Revision, "err", err)
	}
	x.absent, x.unreadable = true, true
	return x
}

// reportChanges logs the changed rules and publishes an event, except after the first read.
func (r *RuntimeRules) reportChanges(changed []string) {
	if len(changed) == 0 || r.known < 0 {
		return
	}
	slices.Sort(changed)
	names := strings.Join(changed[:min(len(changed), 10)], ", ")
	if more := len(changed) - 10; more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	r.o.Log.Info("rules in redis changed", "rules", names)
	r.o.Events.Publish(coord.Event{Kind: coord.EventReloaded, Noun: noun, Reason: "ok", Detail: "rules in redis changed: " + names})
}

// Put keeps a rule in Redis for every sidecar, and replaces one of the same name. Putting an equal
// rule again changes nothing. When Put returns, the rule is in force in this sidecar, unless
// Redis fails in between.
func (r *RuntimeRules) Put(ctx context.Context, _ coord.Caller, p *api.RatelimitPutRuleParams) (api.RatelimitPutRuleResult, error) {
	if bad := CheckRules([]api.Rule{*p.Rule}); bad != nil {
		return api.RatelimitPutRuleResult{}, coord.Invalid("%s", strings.ReplaceAll(bad.Error(), "items[0].", "rule."))
	}
	text, err := textOf(*p.Rule)
	if err != nil {
		return api.RatelimitPutRuleResult{}, err
	}
	name := p.Rule.Name
	out, err := lua.Run(ctx, r.o.Runner, PutRuleScript, PutRuleIn{
		Rules: r.key, Name: name, Text: text, Least: r.o.Rules.next(), Most: maxKept + 1, Channel: r.o.Keys.Broadcast(),
	}, lua.StoredReply{})
	switch {
	case err != nil:
		return api.RatelimitPutRuleResult{}, coord.Failed("ratelimit "+name+": put", err)
	case out.Value.Revision == 0:
		return api.RatelimitPutRuleResult{}, &coord.Error{Code: api.FailedPrecondition, Op: "params", Err: errManyRules}
	}
	r.settle(ctx)
	return api.RatelimitPutRuleResult{Revision: out.Value.Revision, Replaced: out.Value.Replaced, Hidden: r.o.Rules.hides(name)}, nil
}

var errManyRules = fmt.Errorf("rule: redis keeps %d rules already, the most; remove some with ratelimit.delete_rule, or keep this one in a file", maxKept)

// Delete removes a rule that was put, and reports whether there was one. When Delete returns, the
// rule is no longer in force in this sidecar, unless Redis fails in between.
func (r *RuntimeRules) Delete(ctx context.Context, _ coord.Caller, p *api.RatelimitDeleteRuleParams) (api.RatelimitDeleteRuleResult, error) {
	out, err := lua.Run(ctx, r.o.Runner, DeleteRuleScript, DeleteRuleIn{
		Rules: r.key, Name: p.Name, Least: r.o.Rules.next(), Channel: r.o.Keys.Broadcast(),
	}, lua.StoredReply{})
	if err != nil {
		return api.RatelimitDeleteRuleResult{}, coord.Failed("ratelimit "+p.Name+": delete", err)
	}
	r.settle(ctx)
	return api.RatelimitDeleteRuleResult{Deleted: out.Value}, nil
}

// settle puts a change by this sidecar in force before the call is answered. If Redis fails in
// between, the change is made nevertheless, and read within a second after Redis replies again.
func (r *RuntimeRules) settle(ctx context.Context) {
	if r.load(ctx) != nil {
		r.wake()
	}
}
