package main

import (
	"fmt"
	"io"
	"time"
)

// simulationPrinter prints a simulation, line by line.
type simulationPrinter struct {
	to                                 io.Writer
	json                               bool
	calls, allowed, shadowed, refusals int64
}

func printer(to io.Writer, format string) *simulationPrinter {
	return &simulationPrinter{to: to, json: format == outputJSON}
}

// outcome returns "allowed", or why the call was refused; for a rule in shadow both.
func (c simulated) outcome() string {
	switch {
	case c.Shadow:
		return "allowed (shadow of " + c.DeniedBy + ")"
	case c.Allowed:
		return "allowed"
	default:
		return c.DeniedBy
	}
}

func (p *simulationPrinter) call(c simulated) error {
	p.calls++
	switch {
	case !c.Allowed:
		p.refusals++
	case c.Shadow:
		p.shadowed++
		p.allowed++
	default:
		p.allowed++
	}
	if p.json {
		return printJSON(p.to, struct {
			AtMS         float64 `json:"at_ms"`
			Key          string  `json:"key"`
			Cost         int64   `json:"cost"`
			Rule         string  `json:"rule"`
			Allowed      bool    `json:"allowed"`
			DeniedBy     string  `json:"denied_by,omitempty"`
			Shadow       bool    `json:"shadow,omitempty"`
			Band         string  `json:"band"`
			Remaining    int64   `json:"remaining"`
			RetryAfterMS int64   `json:"retry_after_ms"`
		}{
			float64(c.at) / float64(time.Millisecond), c.key, c.cost, c.rule, c.Allowed, c.DeniedBy, c.Shadow,
			c.Band, c.Remaining, c.RetryAfterMS,
		}, outputJSON)
	}
	if p.calls == 1 {
		if _, err := fmt.Fprintf(p.to, "%-12s %-24s %6s  %-12s %9s  %s\n", "AT", "KEY", "COST", "OUTCOME", "REMAINING", "RETRY AFTER"); err != nil {
			return err
		}
	}
	return printLine(p.to, "%-12v %-24s %6d  %-12s %9d  %s", c.at, c.key, c.cost, c.outcome(), c.Remaining, wait(c.RetryAfterMS))
}

func (p *simulationPrinter) summary() error {
	if p.json {
		return printJSON(p.to, map[string]int64{
			"calls": p.calls, "allowed": p.allowed, "shadowed": p.shadowed, "refused": p.refusals,
		}, outputJSON)
	}
	_, err := fmt.Fprintf(p.to, "%s: %d allowed, %d refused", counted(int(p.calls), "call"), p.allowed, p.refusals)
	if err == nil && p.shadowed > 0 {
		_, err = fmt.Fprintf(p.to, "; %d of those allowed were so only in shadow", p.shadowed)
	}
	if err == nil {
		_, err = fmt.Fprintln(p.to)
	}
	return err
}

// wait formats retry_after_ms for people.
func wait(retryAfterMS int64) string {
	switch retryAfterMS {
	case 0:
		return "-"
	case -1:
		return "never"
	default:
		return ms(retryAfterMS)
	}
}
