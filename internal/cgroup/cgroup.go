// Package cgroup reads the limits and the use of CPU and memory of a container from its control group of version 2 or 1.
//
// Its invariant: a limit that cannot be read counts as no limit.
package cgroup

import (
	"math"
	"os"
	"strconv"
	"strings"
)

// Root is the folder of a container's own group.
const Root = "/sys/fs/cgroup"

// Group is the control group below a folder, Root outside of tests.
type Group string

// CPU returns the limit of processor time in processors, +Inf if there is none.
func (g Group) CPU() float64 {
	quota, period, _ := strings.Cut(g.text("/cpu.max"), " ")
	if quota == "" {
		quota, period = g.text("/cpu/cpu.cfs_quota_us"), g.text("/cpu/cpu.cfs_period_us")
	}
	q, err := strconv.ParseFloat(quota, 64)
	p, err2 := strconv.ParseFloat(period, 64)
	if err != nil || err2 != nil || q <= 0 || p <= 0 {
		return math.Inf(1)
	}
	return q / p
}

// Throttled returns the share of periods, from 0 to 1, in which the group was throttled; 0 if it is not known.
func (g Group) Throttled() float64 {
	fields := g.fields("/cpu.stat", "/cpu/cpu.stat")
	if fields["nr_periods"] == 0 {
		return 0
	}
	return fields["nr_throttled"] / fields["nr_periods"]
}

// unlimited is a limit from which on there is none: version 1 has one near 2^63 for a group without a limit.
const unlimited = 1 << 60

// Memory returns the limit of memory in bytes and the memory in use, without the part of the cache that the kernel drops when
// it needs memory. The limit is 0 if there is none.
func (g Group) Memory() (limit, used int64) {
	limit = max(g.number("/memory.max"), g.number("/memory/memory.limit_in_bytes"))
	if limit >= unlimited {
		limit = 0
	}
	cached := g.fields("/memory.stat", "/memory/memory.stat")
	used = max(g.number("/memory.current"), g.number("/memory/memory.usage_in_bytes"))
	return limit, max(0, used-int64(max(cached["inactive_file"], cached["total_inactive_file"])))
}

func (g Group) number(path string) int64 {
	n, err := strconv.ParseInt(g.text(path), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// fields returns the lines of the first file that exists, each a name and a number.
func (g Group) fields(paths ...string) map[string]float64 {
	m := map[string]float64{}
	for _, path := range paths {
		for line := range strings.Lines(g.text(path)) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
			if n, err := strconv.ParseFloat(value, 64); err == nil {
				m[name] = n
			}
		}
		if len(m) > 0 {
			break
		}
	}
	return m
}

func (g Group) text(path string) string {
	b, _ := os.ReadFile(string(g) + path)
	return strings.TrimSpace(string(b))
}
