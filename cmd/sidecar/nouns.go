package main

import (
	"cmp"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
)

// The commands for operators: they list the locks, breakers, queues and so on, read one of them, and change it by hand.

func newNouns(p process) []*cobra.Command {
	return []*cobra.Command{
		newGroup("lock", "List, read or free locks",
			lockList.command(p, "lock", "List the locks that are held", "List the locks that are held: by whom, since when, for how long, and how many calls wait."),
			newOne(p, "lock", "get", "Show who holds a lock", api.LockGet, lockList.names), newLockRelease(p)),
		newGroup("breaker", "List, read or reset circuit breakers", newBreakerList(p),
			newOne(p, "breaker", "get", "Show the state of a breaker", api.BreakerGet, breakerList.names),
			newOne(p, "breaker", "reset", "Close a breaker and reset its counts", api.BreakerReset, breakerList.names)),
		newGroup("semaphore", "List or read semaphores",
			semaphoreList.command(p, "semaphore", "List semaphores", "List the semaphores whose permits are held or waited for, and their holders."),
			newOne(p, "semaphore", "get", "Show who holds permits", api.SemaphoreGet, semaphoreList.names)),
		newGroup("queue", "List or count queues",
			queueList.command(p, "queue", "List queues", "List the queues that have entries or waiting calls."),
			newOne(p, "queue", "get", "Count the entries of a queue", api.QueueStats, queueList.names)),
		newGroup("pool", "List or count pools and their members", newPoolList(p),
			newOne(p, "pool", "get", "Count the members of a pool", api.PoolStats, poolList.names)),
		newGroup("stream", "List or count streams",
			streamList.command(p, "stream", "List streams", "List the streams, and how far their furthest group is behind."),
			newOne(p, "stream", "get", "Count the messages of a stream and its groups", api.StreamStats, streamList.names)),
		newSidecars(p),
	}
}

// newOne makes a command that calls a method with a name as its first param. A shell completes the name by known.
func newOne[P, R any](p process, noun, verb, short string, m api.Method[P, R], known names) *cobra.Command {
	cmd := &cobra.Command{
		Use: verb + " NAME", Short: short, Args: cobra.ExactArgs(1), Example: "  sidecar " + noun + " " + verb + " NAME",
		Long: short + ": the result of " + m.Name + " as JSON.", ValidArgsFunction: known.first,
	}
	socket := addSocketFlag(cmd, p)
	timeout := cmd.Flags().Duration("timeout", api.DefaultDeadlineMS*time.Millisecond, "`duration` that the call may take")
	output := addJSONOutput(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var params P
		reflect.ValueOf(&params).Elem().Field(0).SetString(args[0])
		r, err := ask(cmd.Context(), *socket, "sidecar "+noun+" "+verb, *timeout, m, params)
		if err != nil {
			return err
		}
		return printJSON(p.out, api.AsWire(r), outputFormat(*output, p.out))
	}
	return cmd
}

func newLockRelease(p process) *cobra.Command {
	cmd := &cobra.Command{
		Use: "release NAME --force", Short: "Free a lock whoever holds it", Args: cobra.ExactArgs(1),
		Long: `Free a lock, whoever holds it. Its owner is notified that it lost the lock, but its work goes on until it handles that. The
fence of the next owner is higher. It is an admin call (lock.force_release), and the sidecar logs it.`,
		Example:           "  sidecar lock release nightly --force --reason 'the job hangs'",
		ValidArgsFunction: names(lockList.names).first,
	}
	socket := addSocketFlag(cmd, p)
	timeout := cmd.Flags().Duration("timeout", api.DefaultDeadlineMS*time.Millisecond, "`duration` that the call may take")
	force := cmd.Flags().Bool("force", false, "confirm that the lock is taken from its owner")
	reason := cmd.Flags().String("reason", "", "`text` for the log and the event")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !*force {
			return usage("lock release: it takes the lock from whoever holds it; say so with --force")
		}
		r, err := ask(cmd.Context(), *socket, "sidecar lock release", *timeout, api.LockForceRelease, api.LockForceReleaseParams{Name: args[0], Reason: *reason})
		switch {
		case err != nil:
			return err
		case !r.Released:
			return printLine(p.out, "%s was free", args[0])
		}
		return printLine(p.out, "%s is free; it was held by %s since %s", args[0], coord.Who(r.HeldBy), instant(r.HeldBy.SinceAtMS))
	}
	return cmd
}

func newBreakerList(p process) *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Short: "List circuit breakers", Args: cobra.NoArgs,
		Long:    "List the breakers that are known: in what state they are and since when. With --pool, those of the members of a pool.",
		Example: "  sidecar breaker list --state not_closed\n  sidecar breaker list --pool accounts -o json",
	}
	f := addListFlags(cmd, p, "sidecar breaker list", reflect.TypeFor[api.BreakerListParams]())
	pool := cmd.Flags().String("pool", "", "`name` of the pool whose members' breakers to list")
	names(poolList.names).of(cmd, "pool")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return breakerList.run(cmd.Context(), f, api.BreakerListParams{Pool: *pool})
	}
	return cmd
}

func newPoolList(p process) *cobra.Command {
	cmd := &cobra.Command{
		Use: "list [POOL]", Short: "List pools, or the members of one", Args: cobra.MaximumNArgs(1),
		Long:              "List the pools that have members, with what these are and who has some. With a pool, list its members.",
		Example:           "  sidecar pool list --state exhausted\n  sidecar pool list accounts",
		ValidArgsFunction: names(poolList.names).first,
	}
	f := addListFlags(cmd, p, "sidecar pool list", reflect.TypeFor[api.PoolPoolsParams]())
	scope := cmd.Flags().String("scope", "", "with a pool, the `scope` whose use and cooldowns to show")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) == 0 && *scope != "":
			return usage("pool list: --scope is of the members of one pool; name it")
		case len(args) == 0:
			return poolList.run(cmd.Context(), f, api.PoolPoolsParams{})
		case f.state != "":
			return usage("pool list: --state is of pools; leave it out for the members of one")
		}
		return memberList.run(cmd.Context(), f, api.PoolListParams{Pool: args[0], Scope: *scope})
	}
	return cmd
}

func newSidecars(p process) *cobra.Command {
	cmd := &cobra.Command{
		Use: "sidecars", Short: "List the sidecars that use this Redis", Args: cobra.NoArgs,
		Long: `List the sidecars that use this Redis with the same prefix and tenant: their pods, versions and rules. A sidecar that was
killed stays in the list for half a minute. It is an admin call (inspect.sidecars).`,
		Example: "  sidecar sidecars\n  sidecar sidecars --limit 0 -o json",
	}
	f := addListFlags(cmd, p, "sidecar sidecars", reflect.TypeFor[api.InspectSidecarsParams]())
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return sidecarList.run(cmd.Context(), f, api.InspectSidecarsParams{})
	}
	return cmd
}

// noCell is the text of a cell without a value.
const noCell = "-"

func count(n int64) string { return strconv.FormatInt(n, 10) }

// span formats a duration, rounded to seconds above 10 s.
func span(ms int64) string {
	switch d := time.Duration(ms) * time.Millisecond; {
	case ms == 0:
		return noCell
	case ms < 0:
		return "for ever"
	case d > 10*time.Second:
		return d.Round(time.Second).String()
	default:
		return d.String()
	}
}

func moment(ms int64) string {
	if ms == 0 {
		return noCell
	}
	return coord.At(ms)
}

func who(h *api.Holder) string {
	if h == nil {
		return noCell
	}
	return coord.Who(h)
}

// some lists the holders of a row, by a text for each.
func some[E any](all []E, of func(E) string) string {
	texts := make([]string, len(all))
	for i, x := range all {
		texts[i] = of(x)
	}
	return cmp.Or(strings.Join(texts, ", "), noCell)
}

var lockList = listing[api.LockListParams, api.LockListResult, api.LockEntry]{api.LockList, []column[api.LockEntry]{
	{"NAME", func(e api.LockEntry) string { return e.Name }},
	{"HELD BY", func(e api.LockEntry) string { return who(e.HeldBy) }},
	{"SINCE", func(e api.LockEntry) string { return moment(e.HeldBy.SinceAtMS) }},
	{"TTL", func(e api.LockEntry) string { return span(e.TTLMS) }},
	{"WAITING", func(e api.LockEntry) string { return count(e.Waiting) }},
	{"FENCE", func(e api.LockEntry) string { return e.Fence }},
}}

var semaphoreList = listing[api.SemaphoreListParams, api.SemaphoreListResult, api.SemaphoreListed]{api.SemaphoreList, []column[api.SemaphoreListed]{
	{"NAME", func(e api.SemaphoreListed) string { return e.Name }},
	{"HELD", func(e api.SemaphoreListed) string { return count(e.Held) }},
	{"WAITING", func(e api.SemaphoreListed) string { return count(e.Waiting) }},
	{"FIRST TO END", func(e api.SemaphoreListed) string {
		return some(e.Holders, func(h api.SemaphoreHolder) string {
			return fmt.Sprintf("%s has %d for %s", who(h.HeldBy), h.Permits, span(h.TTLMS))
		})
	}},
}}

var queueList = listing[api.QueueListParams, api.QueueListResult, api.QueueListed]{api.QueueList, []column[api.QueueListed]{
	{"QUEUE", func(e api.QueueListed) string { return e.Queue }},
	{"ENTRIES", func(e api.QueueListed) string { return count(e.Depth) }},
	{"LEASED", func(e api.QueueListed) string { return count(e.Leased) }},
	{"WAITING", func(e api.QueueListed) string { return count(e.Waiting) }},
	{"OLDEST", func(e api.QueueListed) string { return span(e.OldestMS) }},
	{"FIRST TO COME BACK", func(e api.QueueListed) string {
		return some(e.Holders, func(h api.QueueHolder) string { return fmt.Sprintf("%s in %s", h.ID, span(h.LeftMS)) })
	}},
}}

var breakerList = listing[api.BreakerListParams, api.BreakerListResult, api.BreakerListed]{api.BreakerList, []column[api.BreakerListed]{
	{"NAME", func(e api.BreakerListed) string { return e.Name }},
	{"STATE", func(e api.BreakerListed) string { return e.State }},
	{"SINCE", func(e api.BreakerListed) string { return moment(e.ChangedAtMS) }},
	{"OPEN FOR", func(e api.BreakerListed) string { return span(e.OpenForMS) }},
	{"IN A ROW", func(e api.BreakerListed) string { return count(e.Opened) }},
	{"FAILURES", func(e api.BreakerListed) string { return count(e.Failures) }},
	{"PROBES", func(e api.BreakerListed) string { return count(e.Probes) }},
	{"POLICY", func(e api.BreakerListed) string { return e.Policy }},
}}

var poolList = listing[api.PoolPoolsParams, api.PoolPoolsResult, api.PoolListed]{api.PoolPools, []column[api.PoolListed]{
	{"POOL", func(e api.PoolListed) string { return e.Pool }},
	{"MEMBERS", func(e api.PoolListed) string { return count(e.Total) }},
	{"FREE", func(e api.PoolListed) string { return count(e.Free) }},
	{"LEASED", func(e api.PoolListed) string { return count(e.Live) }},
	{"COOLING", func(e api.PoolListed) string { return count(e.Cooling) }},
	{"BANNED", func(e api.PoolListed) string { return count(e.Banned) }},
	{"OPEN", func(e api.PoolListed) string { return count(e.Open) }},
	{"LINES", func(e api.PoolListed) string { return count(e.Lines) }},
	{"FIRST TO END", func(e api.PoolListed) string {
		return some(e.Holders, func(h api.PoolHolder) string {
			return fmt.Sprintf("%s has %s for %s", who(h.HeldBy), h.ID, span(h.LeftMS))
		})
	}},
}}

var memberList = listing[api.PoolListParams, api.PoolListResult, api.PoolEntry]{api.PoolList, []column[api.PoolEntry]{
	{"MEMBER", func(e api.PoolEntry) string { return e.ID }},
	{"STATE", func(e api.PoolEntry) string { return e.State }},
	{"FOR", func(e api.PoolEntry) string { return span(e.ForMS) }},
	{"HELD BY", func(e api.PoolEntry) string { return who(e.HeldBy) }},
	{"LAST USED", func(e api.PoolEntry) string { return moment(e.LastUsedAtMS) }},
	{"FAILURES", func(e api.PoolEntry) string { return count(e.Failures) }},
	{"BREAKER", func(e api.PoolEntry) string { return cmp.Or(e.Breaker, noCell) }},
	{"PAUSED FOR", func(e api.PoolEntry) string { return span(e.PausedForMS) }},
}}

var streamList = listing[api.StreamListParams, api.StreamListResult, api.StreamListed]{api.StreamList, []column[api.StreamListed]{
	{"STREAM", func(e api.StreamListed) string { return e.Stream }},
	{"LENGTH", func(e api.StreamListed) string { return count(e.Length) }},
	{"DELAYED", func(e api.StreamListed) string { return count(e.Delayed) }},
	{"DEAD", func(e api.StreamListed) string { return count(e.Dead) }},
	{"GROUPS", func(e api.StreamListed) string { return count(int64(len(e.Groups)) + e.MoreGroups) }},
	{"FURTHEST BEHIND", func(e api.StreamListed) string {
		return some(e.Groups[:min(len(e.Groups), 1)], func(g api.StreamGroup) string {
			lag := count(g.Lag)
			if g.Lag < 0 {
				lag = "very many"
			}
			return fmt.Sprintf("%s: %s to be given, %d pending, %d parked, %d consumers", g.Group, lag, g.Pending, g.Parked, g.Consumers)
		})
	}},
}}

var sidecarList = listing[api.InspectSidecarsParams, api.InspectSidecarsResult, api.InspectSidecar]{api.InspectSidecars, []column[api.InspectSidecar]{
	{"SIDECAR", func(e api.InspectSidecar) string { return e.Sidecar }},
	{"POD", func(e api.InspectSidecar) string { return cmp.Or(e.Pod, noCell) }},
	{"ADDRESS", func(e api.InspectSidecar) string { return cmp.Or(e.Address, noCell) }},
	{"VERSION", func(e api.InspectSidecar) string { return cmp.Or(e.Version, noCell) }},
	{"STARTED", func(e api.InspectSidecar) string { return moment(e.StartedAtMS) }},
	{"RULES", func(e api.InspectSidecar) string { return count(e.Rules) }},
	{"REVISION", func(e api.InspectSidecar) string { return moment(e.RulesRevision) }},
	{"SEEN", func(e api.InspectSidecar) string { return ms(e.SeenMS) + " ago" }},
}}
