package redis

import (
	"context"
	"maps"
	"net"
	"slices"
)

// Tracked is a connection as the store uses it.
func Tracked(c net.Conn) net.Conn { return &conn{tracked: &tracked{Conn: c, of: &conns{}}} }

// CertainlyNotRun tells how a failure of one try is taken.
func CertainlyNotRun(err error) bool { return classify(err).Verdict == NotRun }

// Suspect tells whether such a failure makes the probe look at once.
func Suspect(err error) bool { return classify(err).suspect() }

// SayAsGoRedis is a line of the library's own log.
func SayAsGoRedis(format string, args ...any) {
	libraryLog.Printf(context.Background(), format, args...)
}

// TroubleNames are all that are told apart.
func TroubleNames() []string { return slices.Sorted(maps.Keys(troubles)) }

// Running is how many calls wait for an answer.
func Running(s *Store) int64 { return s.nodes()[0].running.Load() }

// ProbeText is the probe's script.
var ProbeText = probeText
