package lua

import (
	"context"
	"maps"
	"net"
	"slices"

	"github.com/redis/go-redis/v9"
)

// Tracked is a connection as the runner uses it.
func Tracked(c net.Conn) net.Conn { return &conn{tracked: &tracked{Conn: c, of: &conns{}}} }

// CertainlyNotRun tells how a failure of one try is taken.
func CertainlyNotRun(err error) bool { return classify(err).verdict == notRun }

// Suspect tells whether such a failure makes the probe look at once.
func Suspect(err error) bool { return classify(err).suspect() }

// Client is the runner's own pool, for looking into an embedded store.
func Client(r *Runner) *redis.Client { return r.nodes()[0].client }

// SayAsGoRedis is a line of the library's own log.
func SayAsGoRedis(format string, args ...any) {
	libraryLog.Printf(context.Background(), format, args...)
}

// TroubleNames are all that are told apart.
func TroubleNames() []string { return slices.Sorted(maps.Keys(troubles)) }

// Running is how many calls wait for an answer.
func Running(r *Runner) int64 { return r.nodes()[0].running.Load() }
