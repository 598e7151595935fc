// Package look reads what sidecar top and the status page show. A Looker asks for the state of a sidecar, and for the lists of
// locks, pools and other nouns in its Redis.
//
// Its invariant: the cost of a look for Redis does not depend on the number of keys. A look asks for one page of each list, and
// the next look for the page after it. A pass through all pages of a list is a round; until it is complete, the rows of the last
// complete round are kept.
//
// It draws nothing, and makes no connection: its caller gives it a function that calls the sidecar.
package look

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// Ask calls a method of a sidecar. Params is a struct of the contract, result points to one.
type Ask func(ctx context.Context, method string, params, result any) error

// Look is the state of a sidecar and of its lists at one moment.
type Look struct {
	At    time.Time
	State api.InspectResult
	Lists
}

// Lists are the lists of all nouns in Redis.
type Lists struct {
	Locks      List[api.LockEntry]
	Semaphores List[api.SemaphoreListed]
	Pools      List[api.PoolListed]
	Breakers   List[api.BreakerListed]
	Queues     List[api.QueueListed]
	Streams    List[api.StreamListed]
	Sidecars   List[api.InspectSidecar]
}

// UnderWay reports whether the round of a list is not complete.
func (l *Lists) UnderWay() bool {
	return l.Locks.underWay() || l.Semaphores.underWay() || l.Pools.underWay() || l.Breakers.underWay() || l.Queues.underWay() ||
		l.Streams.underWay() || l.Sidecars.underWay()
}

// Looker looks at one sidecar repeatedly. Its methods must not be called concurrently.
type Looker struct {
	ask   Ask
	last  *Look
	lists []lister
}

// lister asks for the next page of one list, and writes how the list stands.
type lister func(context.Context, *Lists)

// New makes a Looker that calls a sidecar by ask.
func New(ask Ask) *Looker { return &Looker{ask: ask} }

// Look asks for the state and for the next page of each list. It fails if the call for the state fails; the error of a list is in the list.
func (l *Looker) Look(ctx context.Context) (Look, error) {
	var is Look
	if err := l.ask(ctx, api.InspectSnapshot.Name, api.Nothing{}, &is.State); err != nil {
		return is, err
	}
	is.At = time.Now()
	if l.last != nil && is.SameSidecar(l.last) {
		is.Lists = l.last.Lists
	} else {
		l.lists = l.rounds() // the one before may have had another Redis
	}
	var pages sync.WaitGroup
	for _, next := range l.lists {
		pages.Go(func() { next(ctx, &is.Lists) })
	}
	pages.Wait()
	l.last = &is
	return is, ctx.Err()
}

// Whole looks until the round of every list is complete, until it has asked for so many pages of each, or until the deadline of ctx.
// At the deadline it returns what it has seen, unless that is nothing.
func (l *Looker) Whole(ctx context.Context, pages int) (is Look, err error) {
	for i := range pages {
		next, err := l.Look(ctx)
		if i > 0 && errors.Is(err, context.DeadlineExceeded) {
			return is, nil
		}
		if is = next; err != nil || !is.UnderWay() {
			return is, err
		}
	}
	return is, nil
}

// SameSidecar reports whether two looks saw one process.
func (l *Look) SameSidecar(as *Look) bool {
	return l.State.PID == as.State.PID && l.State.StartedAtMS == as.State.StartedAtMS
}

// Rule is a rule in force, a rule that made decisions earlier, or all limits that calls give in full (inline).
type Rule struct {
	api.InspectRule
	Decided api.RuleStats // since the sidecar started
}

// Rules returns the rules that made decisions, in the order of the sidecar, and then the others.
func (l *Look) Rules() []Rule {
	inForce := make(map[string]api.InspectRule, len(l.State.Rules))
	for _, r := range l.State.Rules {
		inForce[r.Name] = r
	}
	rules := make([]Rule, 0, max(len(l.State.Rules), len(l.State.Decisions)))
	for _, d := range l.State.Decisions {
		r := inForce[d.Rule]
		r.Name = d.Rule
		rules = append(rules, Rule{r, d})
		delete(inForce, d.Rule)
	}
	for _, r := range l.State.Rules {
		if _, left := inForce[r.Name]; left {
			rules = append(rules, Rule{r, api.RuleStats{Rule: r.Name}})
		}
	}
	return rules
}

// rounds begins a round through each list.
func (l *Looker) rounds() []lister {
	return []lister{
		follow(l.ask, api.LockList, func(o *Lists) *List[api.LockEntry] { return &o.Locks },
			func(cursor string, count int64) api.LockListParams {
				return api.LockListParams{Cursor: cursor, Count: count}
			},
			func(r *api.LockListResult) ([]api.LockEntry, string) { return r.Locks, r.Cursor },
			func(e *api.LockEntry) (string, int64) { return e.Name, e.Waiting }),
		follow(l.ask, api.SemaphoreList, func(o *Lists) *List[api.SemaphoreListed] { return &o.Semaphores },
			func(cursor string, count int64) api.SemaphoreListParams {
				return api.SemaphoreListParams{Cursor: cursor, Count: count}
			},
			func(r *api.SemaphoreListResult) ([]api.SemaphoreListed, string) { return r.Semaphores, r.Cursor },
			func(e *api.SemaphoreListed) (string, int64) { return e.Name, e.Waiting }),
		follow(l.ask, api.PoolPools, func(o *Lists) *List[api.PoolListed] { return &o.Pools },
			func(cursor string, count int64) api.PoolPoolsParams {
				return api.PoolPoolsParams{Cursor: cursor, Count: count}
			},
			func(r *api.PoolPoolsResult) ([]api.PoolListed, string) { return r.Pools, r.Cursor },
			func(e *api.PoolListed) (string, int64) { return e.Pool, e.Live }),
		follow(l.ask, api.BreakerList, func(o *Lists) *List[api.BreakerListed] { return &o.Breakers },
			func(cursor string, count int64) api.BreakerListParams {
				return api.BreakerListParams{Cursor: cursor, Count: count}
			},
			func(r *api.BreakerListResult) ([]api.BreakerListed, string) { return r.Breakers, r.Cursor },
			func(e *api.BreakerListed) (string, int64) {
				if e.State != api.BreakerClosed {
					return e.Name, 1 << 32 // in front of every count of failures
				}
				return e.Name, e.Failures
			}),
		follow(l.ask, api.QueueList, func(o *Lists) *List[api.QueueListed] { return &o.Queues },
			func(cursor string, count int64) api.QueueListParams {
				return api.QueueListParams{Cursor: cursor, Count: count}
			},
			func(r *api.QueueListResult) ([]api.QueueListed, string) { return r.Queues, r.Cursor },
			func(e *api.QueueListed) (string, int64) { return e.Queue, e.Depth }),
		follow(l.ask, api.StreamList, func(o *Lists) *List[api.StreamListed] { return &o.Streams },
			func(cursor string, count int64) api.StreamListParams {
				return api.StreamListParams{Cursor: cursor, Count: count}
			},
			func(r *api.StreamListResult) ([]api.StreamListed, string) { return r.Streams, r.Cursor },
			func(e *api.StreamListed) (string, int64) {
				if len(e.Groups) == 0 {
					return e.Stream, 0
				}
				return e.Stream, e.Groups[0].Lag + e.Groups[0].Pending // the group that is behind most
			}),
		follow(l.ask, api.InspectSidecars, func(o *Lists) *List[api.InspectSidecar] { return &o.Sidecars },
			func(cursor string, count int64) api.InspectSidecarsParams {
				return api.InspectSidecarsParams{Cursor: cursor, Count: count}
			},
			func(r *api.InspectSidecarsResult) ([]api.InspectSidecar, string) { return r.Sidecars, r.Cursor },
			func(e *api.InspectSidecar) (string, int64) { return e.Sidecar, e.StartedAtMS }),
	}
}

// Text words an error for display: the error that the sidecar answered, or why it did not answer.
func Text(err error) string {
	var reply *api.Error
	if errors.As(err, &reply) {
		return reply.Error()
	}
	return err.Error()
}
