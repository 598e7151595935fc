package lua_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lock"
	"github.com/coxswain-sidecar/coxswain/internal/coord/pubsub"
	"github.com/coxswain-sidecar/coxswain/internal/coord/ratelimit"
	"github.com/coxswain-sidecar/coxswain/internal/coord/stream"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

// documentedACL is the line of docs/redis.md for the prefix coxswain.
func documentedACL(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../../docs/redis.md")
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		if rules, ok := strings.CutPrefix(line, "user coxswain on >password "); ok {
			return strings.Fields(rules)
		}
	}
	t.Fatal("docs/redis.md has no line for the user")
	return nil
}

func TestTheDocumentedUserMayDoAllThatIsNeeded(t *testing.T) {
	t.Parallel()
	rules := documentedACL(t)
	for name, more := range map[string][]string{"as documented": nil, "without PUBLISH": {"-publish"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := redistest.StartUser(t, "coxswain", "pw", append(rules[:len(rules):len(rules)], more...)...)
			r := luatest.Open(t, lua.Options{URL: "redis://coxswain:pw@" + strings.TrimPrefix(s.URL(), "redis://")})
			key := "coxswain:v2:{k}"
			_, err := lua.Run(luatest.Deadline(t), r, ratelimit.TokenBucketScript, bucket(key, 5), lua.StoredReply{Key: key + ":idem", Fingerprint: "f"})
			require.NoError(t, err)
			_, err = lua.Run(luatest.Deadline(t), r, ratelimit.ResetScript, ratelimit.ResetIn{State: key, Channel: "coxswain:v2:broadcast"}, lua.StoredReply{})
			require.NoError(t, err)
			name, line := key+":lock", lease.LineKeysOf(key+":lock")
			_, _, err = lua.RunReplicated(luatest.Deadline(t), r, lock.AcquireScript,
				lock.AcquireIn{Lock: name, LineKeys: line, Token: "t", TTLMS: 60_000}, lua.StoredReply{}, 1, 1)
			require.NoError(t, err)
			_, err = lua.Run(luatest.Deadline(t), r, lock.AcquireScript,
				lock.AcquireIn{Lock: name, LineKeys: line, Token: "u", TTLMS: 60_000, Waiter: "s:1", HeartbeatMS: 3000}, lua.StoredReply{})
			require.NoError(t, err)
			heartbeat, err := lua.Run(luatest.Deadline(t), r, lease.LineHeartbeat,
				lease.LineHeartbeatIn{LineKeys: line, Sidecar: "s", HeartbeatMS: 3000, Waiters: strings.Join([]string{"s:1"}, " "), Gone: "s:0"}, lua.StoredReply{})
			require.NoError(t, err)
			require.Equal(t, "s:1", heartbeat.Value.Head)
			_, err = lua.Run(luatest.Deadline(t), r, lock.ReleaseScript,
				lock.ReleaseIn{Lock: name, LineKeys: line, Token: "t", Inboxes: "coxswain:v2:inbox:"}, lua.StoredReply{})
			require.NoError(t, err)
			_, err = lua.Run(luatest.Deadline(t), r, lock.GetScript, lock.GetIn{Lock: name, Line: line.Line}, lua.StoredReply{})
			require.NoError(t, err)
			streams(t, r, key)
			require.NoError(t, untilUpOn(t, r, key))
			require.True(t, r.Status().ScriptsLoaded)
			require.Equal(t, "noeviction", r.Status().EvictionPolicy)
			reader := r.Reader(key + ":stream:log")
			defer reader.Close()
			_, err = reader.Read(luatest.Deadline(t), "g", "c", 1, 0)
			require.ErrorIs(t, err, redis.ErrNoGroup)
			h, _ := luatest.Listen(t, r, "coxswain:v2:inbox:s", "coxswain:v2:broadcast")
			luatest.Next(t, h.Subscribed)
			l, heard := listener(t, r)
			l.Add(channel("coxswain:v2:pubsub:c"), pattern("coxswain:v2:pubsub:*"))
			require.ElementsMatch(t, []string{"on coxswain:v2:pubsub:c", "on coxswain:v2:pubsub:*"}, []string{luatest.Next(t, heard), luatest.Next(t, heard)})
			sent, err := lua.Run(luatest.Deadline(t), r, pubsub.PublishScript, pubsub.PublishIn{Route: key, Channel: "coxswain:v2:pubsub:c"}, lua.StoredReply{})
			require.NoError(t, err)
			receivers := int64(2)
			if more != nil {
				receivers = -1
			}
			require.Equal(t, receivers, sent.Value.Receivers)
			_, err = take(luatest.Deadline(t), r, "elsewhere", 5)
			require.ErrorContains(t, err, "NOPERM")
		})
	}
}

// streams publishes a message now and one for later, and makes a group of their stream.
func streams(t *testing.T, r *lua.Runner, key string) {
	t.Helper()
	keys := stream.Keys{Log: key + ":log", Dead: key + ":dead", Groups: key + ":groups"}
	own := stream.GroupKeys{Retry: key + ":retry", Lanes: key + ":lanes", Parked: key + ":parked", Laned: key + ":laned"}
	for _, delay := range []int64{0, 60_000} {
		out, err := lua.Run(luatest.Deadline(t), r, stream.PublishScript, stream.PublishIn{
			Keys: keys, DelayedKeys: stream.DelayedKeys{Due: key + ":due", Delayed: key + ":delayed"},
			Message: "m", DelayMS: delay, Broadcast: "coxswain:v2:broadcast",
		}, lua.StoredReply{Key: fmt.Sprint(key, ":", delay), Fingerprint: "f"})
		require.NoError(t, err)
		require.True(t, out.Value.Published)
	}
	_, err := lua.Run(luatest.Deadline(t), r, stream.OpenScript, stream.OpenIn{Keys: keys, GroupKeys: own, Group: "g", From: "0-0"}, lua.StoredReply{})
	require.NoError(t, err)
	_, err = lua.Run(luatest.Deadline(t), r, stream.ClaimScript, stream.ClaimIn{
		Keys: keys, GroupKeys: own, Group: "g", Consumer: "c", VisibilityMS: 1000, MaxDeliveries: 5, Count: 1,
	}, lua.StoredReply{})
	require.NoError(t, err)
	_, err = lua.Run(luatest.Deadline(t), r, stream.HeadsScript, stream.HeadsIn{
		Keys: keys, GroupKeys: own, Group: "g", Consumer: "c", Count: 1, Most: 10, Longest: 512, HoldMS: 1000,
	}, lua.StoredReply{})
	require.NoError(t, err)
	reader := r.Reader(keys.Log)
	defer reader.Close()
	news, err := reader.Await(luatest.Deadline(t), "0-0", 0)
	require.NoError(t, err)
	require.True(t, news)
}

// untilUpOn is luatest.UntilUp with a key that the user may use.
func untilUpOn(t *testing.T, r *lua.Runner, key string) error {
	_, err := lua.Run(luatest.Deadline(t), r, ratelimit.ResetScript, ratelimit.ResetIn{State: key}, lua.StoredReply{})
	return err
}

// The user's rights are also compared with the commands in the scripts, since no test runs every branch of every script
// as that user.
func TestTheDocumentedUserMayRunWhatScriptsRun(t *testing.T) {
	t.Parallel()
	acl := documentedACL(t)
	command := regexp.MustCompile(`redis\.p?call\('((?:XINFO|XGROUP)', '[A-Z]+|[A-Z]+)'`)
	for name, text := range sources(t) {
		for _, m := range command.FindAllStringSubmatch(text, -1) {
			needed := strings.ToLower(strings.Replace(m[1], "', '", "|", 1))
			require.Contains(t, acl, "+"+needed, "%s runs %s", name, m[1])
		}
	}
}
