// Command crawlhub crawls a site with 200 workers in 4 processes that share 20
// User-Agents, none of which may make more than 80 requests in 10 minutes, and
// proves from the site's own log that none did. One call, permit.acquire, decides
// whose turn it is: the least recently used User-Agent that is healthy and has a
// request left. All durations are scaled, so that time runs 60 times as fast:
//
//	go run ./examples/crawlhub -print-config > /tmp/crawlhub.yaml
//	sidecar serve --redis embedded --socket /tmp/s.sock --config /tmp/crawlhub.yaml
//	go run ./examples/crawlhub -socket /tmp/s.sock
//
// Several sockets, separated by commas, are those of several sidecars on one Redis,
// which stand for several pods: the processes use them in turn.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := Run(ctx, os.Args[1:], os.Stdin, os.Stdout)
	stop()
	if err != nil {
		log.Fatal(err)
	}
}

// name is the name of the rule and of the breakers' policy in the sidecar's
// configuration.
const name = "crawlhub"

// hub has the values of the flags.
type hub struct {
	sockets                                 []string
	pool                                    string
	processes, workers, identities, shops   int
	limit, burst, requests                  int
	period, open, duration, takes, blockFor time.Duration // duration and takes are real time, the others are scaled

	scale   float64
	process int    // from 0; -1 = this process starts the worker processes
	site    string // the URL, for worker processes
}

// scaled returns a duration divided by scale.
func (h *hub) scaled(d time.Duration) time.Duration {
	return time.Duration(float64(d) / h.scale).Round(time.Millisecond)
}

// rate returns the bucket of an identity. Its burst, its refill in a period and one
// request that may be under way add up to the limit.
func (h *hub) rate() Rate {
	return Rate{Burst: h.burst, Refill: h.limit - h.burst - 1, Period: h.scaled(h.period)}
}

// Run crawls until the duration is over or ctx ends, and writes the results to
// out. An error means that the proof failed, or that there is no proof.
func Run(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	h := &hub{}
	flags := flag.NewFlagSet("crawlhub", flag.ContinueOnError)
	sockets := flags.String("socket", "", "`paths` of the sidecars' sockets, separated by commas; empty = $COXSWAIN_SOCKET, or the default")
	config := flags.Bool("print-config", false, "print the configuration that the sidecars need for these flags, and exit")
	flags.StringVar(&h.pool, "pool", "user-agents", "`name` of the pool; members of an earlier run are removed")
	flags.IntVar(&h.processes, "processes", 4, "`number` of processes")
	flags.IntVar(&h.workers, "workers", 200, "`number` of workers in all of them")
	flags.IntVar(&h.identities, "identities", 20, "`number` of User-Agents")
	flags.IntVar(&h.shops, "shops", 6, "`number` of shops on the site: an identity that is blocked in one cools down there only")
	flags.IntVar(&h.limit, "limit", 80, "`requests` that an identity may make in any period")
	flags.IntVar(&h.burst, "burst", 7, "`requests` of those that it may make at once")
	flags.DurationVar(&h.period, "period", 10*time.Minute, "`duration` of the period, before it is scaled")
	flags.DurationVar(&h.open, "open", 10*time.Minute, "`duration` that a breaker stays open, before it is scaled")
	flags.DurationVar(&h.blockFor, "block", 5*time.Minute, "`duration` that the site blocks some identities for, before it is scaled")
	flags.Float64Var(&h.scale, "scale", 60, "how many `times` as fast time runs")
	flags.DurationVar(&h.duration, "duration", 30*time.Second, "`duration` of the crawl, not scaled")
	flags.IntVar(&h.requests, "requests", 0, "`number` of requests after which the crawl ends before its duration; 0 = none")
	flags.DurationVar(&h.takes, "takes", 40*time.Millisecond, "`duration` that the site takes for an answer at most, not scaled")
	flags.IntVar(&h.process, "process", -1, "run as the worker process of this `number`; the program starts itself so")
	flags.StringVar(&h.site, "site", "", "`URL` of the site, for worker processes")
	if err := flags.Parse(args); err != nil {
		return err
	}
	h.sockets = strings.Split(*sockets, ",")
	if err := h.check(); err != nil {
		return err
	}
	switch {
	case *config:
		_, err := io.WriteString(out, h.config())
		return err
	case h.process >= 0:
		return h.work(ctx, in, out)
	}
	return h.lead(ctx, args, out)
}

func (h *hub) check() error {
	var errs []error
	for flag, n := range map[string]int{
		"processes": h.processes, "workers": h.workers, "identities": h.identities, "shops": h.shops, "burst": h.burst,
	} {
		if n < 1 || n > 1000 {
			errs = append(errs, fmt.Errorf("-%s %d: use 1 to 1000", flag, n))
		}
	}
	if h.limit < h.burst+2 {
		errs = append(errs, fmt.Errorf("-limit %d: use at least -burst %d plus 2", h.limit, h.burst))
	}
	if h.scale <= 0 || h.scaled(h.period) < time.Millisecond {
		errs = append(errs, fmt.Errorf("-scale %v: use a scale above 0 with which the period is at least a millisecond", h.scale))
	}
	return errors.Join(errs...)
}

// identity returns the nth identity, from 1.
func identity(n int) string { return "crawler/" + strconv.Itoa(n) }

// config returns the configuration of the sidecars. The site asks for a pause by 429
// with Retry-After.
func (h *hub) config() string {
	r := h.rate()
	return fmt.Sprintf(`# %d requests in any %v of each identity, %g times as fast: %d at once, %d that refill, and one under way.
rules:
  items:
    - name: %s
      algorithm: token_bucket
      limits:
        - {limit: %d, period_ms: %d, burst: %d}
      penalty:
        codes: [429]
breakers:
  items:
    - {name: %s, failure_threshold: 3, success_threshold: 3, open_ms: %d}
`, h.limit, h.period, h.scale, r.Burst, r.Refill, name, r.Refill, r.Period.Milliseconds(), r.Burst, name, h.scaled(h.open).Milliseconds())
}
