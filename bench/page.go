package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"
)

// page is docs/benchmarks.md.
func (out *outcome) page() []byte {
	var w bytes.Buffer
	o := out.options
	fmt.Fprintf(&w, `# Benchmarks

Written by `+"`make bench`"+`; do not edit. Redis, the sidecar and all callers share one machine, so the ratios
count, not the absolute figures. Each load runs for %v, one after the other, in %d rounds, on an empty Redis; a ratio is
taken within a round, and the median of the rounds is shown. CPU is user and system time of the process, memory what is resident
and of no file, both as the operating system says; the CPU of Redis is what Redis says of itself.

The load is token_bucket, 1,000,000 per second, cost 1, over 10,000 keys, on 4 connections (1 for one caller).
"Go client" is package client as it comes: its own cost per call is in the figure, and so is the request id that it
gives each acquire, for which the script keeps the reply. "raw" is one goroutine per connection that writes prepared
frames without an id and only looks whether they were granted, which shows the sidecar alone. For locks and permits a
call is a pair of them, the taking and the giving back. "loop" is go-redis's AutoPipeliner over the sidecar's script in
a process of its own, "direct" one caller of it, "echo" a server that sends back what it reads.

The messages of streams have a body of %d bytes. A call of consumers is one message that was acknowledged, each by itself; they were
published before, and a consumer has at most %d at a time. "go-redis" is loops in the process of the callers: XADD, or XREADGROUP with
COUNT %[4]d and an XACK after it for each message, over one pool of connections.

`, o.duration, o.rounds, len(streamBody), prefetch)
	head, rows := out.table()
	markdown(&w, head, rows)
	if said := out.falls(); said != nil {
		fmt.Fprintf(&w, "\n%s\n", strings.Join(said, "\n"))
	}
	fmt.Fprintf(&w, "\n## What was measured\n\nMedians of the rounds. A value is megabytes, milliseconds or a ratio, as the figure of the load says.\n\n")
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

// markdown writes rows for a page.
func markdown(w io.Writer, head []string, rows [][]string) {
	line := func(cells []string) { fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | ")) }
	line(head)
	fmt.Fprintln(w, strings.Repeat("|---", len(head))+"|")
	for _, row := range rows {
		line(row)
	}
}
