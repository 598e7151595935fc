package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"
)

// page returns the text of docs/benchmarks.md.
func (out *outcome) page() []byte {
	var w bytes.Buffer
	o := out.options
	fmt.Fprintf(&w, `# Benchmarks

Written by `+"`make bench`"+`; do not edit. Redis, the sidecar and all callers share one machine, so only the ratios are
meaningful, not the absolute figures. The loads run one after the other, each for %v, in %d rounds, each on an empty Redis. A ratio is
taken within a round, and the table shows the median of the rounds. CPU is the user and system time of the process, and memory its
anonymous resident memory, both from /proc; Redis CPU is used_cpu_user plus used_cpu_sys of INFO.

The load is token_bucket, 1,000,000 per second, cost 1, over 10,000 keys, on 4 connections (1 for one caller).
"Go client" is package client with its defaults: the figure includes its own cost per call, and the request id that it
gives each acquire, for which the script stores the reply. "raw" is one goroutine per connection that writes prepared
frames without a request id and only checks that they were granted, which shows the sidecar alone. For locks and permits a
call is a pair: acquire and release, or acquire and report. "loop" is go-redis's AutoPipeliner running the sidecar's script in
a process of its own, "direct" is one caller of the script, and "echo" is a server that sends back what it reads.

The messages of streams have a body of %d bytes. A call of consumers is one message and its own acknowledgement. The messages were
published before, and a consumer has at most %d at a time. "go-redis" is loops in the process of the callers: XADD, or XREADGROUP with
COUNT %[4]d and then an XACK for each message, over one pool of connections.

`, o.duration, o.rounds, len(streamBody), prefetch)
	head, rows := out.table()
	markdown(&w, head, rows)
	if lines := out.falls(); lines != nil {
		fmt.Fprintf(&w, "\n%s\n", strings.Join(lines, "\n"))
	}
	fmt.Fprintf(&w, "\n## What was measured\n\nMedians of the rounds. A value is in megabytes or milliseconds, or a ratio, as in the figure of the load.\n\n")
	markdown(&w, loadHead, out.loadRows())
	fmt.Fprintf(&w, "\n## Growth\n\n![calls per second as keys, connections and masters grow](%s)\n", plotFile)
	fmt.Fprint(&w, "\n## Where\n\n")
	for _, line := range out.about {
		fmt.Fprintf(&w, "- %s\n", line)
	}
	fmt.Fprintf(&w, `
To measure again, on a machine that does nothing else:

%s
make bench                                  # all of it; writes this page
make bench ONLY=P4,P7                       # some figures; writes nothing
BASE=HEAD~1 make bench ROUNDS=3 SECONDS=1   # two commits side by side, shorter
make profile LOAD="raw acquire 64"          # where the CPU goes in a load of the table above
%s

P2 needs a binary of envoyproxy/ratelimit, which `+"`$%s`"+` names. The image of P10 is that of `+"`IMAGE=`"+` in a Docker
engine, or the file of docker save that `+"`$%s`"+` names.
`, "```sh", "```", ratelimitEnv, imageTarEnv)
	return w.Bytes()
}

// markdown writes a table for a page.
func markdown(w io.Writer, head []string, rows [][]string) {
	line := func(cells []string) { fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | ")) }
	line(head)
	fmt.Fprintln(w, strings.Repeat("|---", len(head))+"|")
	for _, row := range rows {
		line(row)
	}
}
