package lua_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lock"
	"github.com/coxswain-sidecar/coxswain/internal/coord/ratelimit"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

func TestTLSFilesAreReadForEachConnection(t *testing.T) {
	t.Parallel()
	s := redistest.StartTLS(t)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	copyFile(t, s.Other, ca)
	r := open(t, lua.Options{
		URL: s.URL(), TLS: redis.TLSFiles{CA: ca, Cert: s.Cert, Key: s.Key, ServerName: redistest.ServerName},
	})
	_, err := take(deadline(t), r, "k", 5)
	require.ErrorIs(t, err, redis.ErrUnavailable)
	require.ErrorContains(t, err, "certificate")
	// The right one, as some editors write it: after a byte order mark.
	text, err := os.ReadFile(s.CA)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(ca, append([]byte("\ufeff"), text...), 0o600))
	require.NoError(t, untilUp(t, r))
	_, err = take(deadline(t), r, "k", 5)
	require.NoError(t, err)
}

func TestTLSServersAreCheckedAndWantACertificate(t *testing.T) {
	t.Parallel()
	s := redistest.StartTLS(t)
	for name, files := range map[string]redis.TLSFiles{
		"another name":   {CA: s.CA, Cert: s.Cert, Key: s.Key, ServerName: "elsewhere.test"},
		"no certificate": {CA: s.CA},
		"no authority":   {Cert: s.Cert, Key: s.Key},
		"no file":        {CA: s.CA + ".gone"},
	} {
		_, err := take(deadline(t), open(t, lua.Options{URL: s.URL(), TLS: files}), "k", 5)
		require.ErrorIs(t, err, redis.ErrUnavailable, name)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(to, text, 0o600))
}

func TestUnixSocketWithADatabase(t *testing.T) {
	t.Parallel()
	s, path := redistest.StartUnix(t)
	r := open(t, lua.Options{URL: "unix://" + path + "?db=3"})
	_, err := take(deadline(t), r, "k", 5)
	require.NoError(t, err)
	require.Equal(t, path, r.Status().Address)
	require.Zero(t, s.Client(t).DBSize(deadline(t)).Val())
}

func TestARotatedPasswordWorksWithoutARestart(t *testing.T) {
	t.Parallel()
	s := redistest.StartUser(t, "app", "first", "~*", "&*", "+@all")
	file := filepath.Join(t.TempDir(), "password")
	require.NoError(t, os.WriteFile(file, []byte("first\n"), 0o600))
	r := open(t, lua.Options{
		URL: "redis://other:wrong@" + strings.TrimPrefix(s.URL(), "redis://"), Username: "app", PasswordFile: file,
	})
	_, err := take(deadline(t), r, "k", 5)
	require.NoError(t, err)
	admin := s.Client(t)
	require.NoError(t, admin.Do(deadline(t), "acl", "setuser", "app", "resetpass", ">second").Err())
	require.NoError(t, admin.Do(deadline(t), "client", "kill", "user", "app").Err())
	untilDown(t, r)
	require.ErrorContains(t, r.Status().Trouble, "WRONGPASS")
	require.NotContains(t, r.Status().Trouble.Error(), "first")
	require.NoError(t, os.WriteFile(file, []byte("\ufeffsecond"), 0o600))
	require.NoError(t, untilUp(t, r))
}

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
			r := open(t, lua.Options{URL: "redis://coxswain:pw@" + strings.TrimPrefix(s.URL(), "redis://")})
			key := "coxswain:v1:{k}"
			_, err := lua.Run(deadline(t), r, ratelimit.TokenBucketScript, bucket(key, 5), lua.Latch{Key: key + ":idem", Fingerprint: "f"})
			require.NoError(t, err)
			_, err = lua.Run(deadline(t), r, ratelimit.ResetScript, ratelimit.ResetIn{State: key, Channel: "coxswain:v1:broadcast"}, lua.Latch{})
			require.NoError(t, err)
			name, line := key+":lock", lineOf(key+":lock")
			_, _, err = lua.RunReplicated(deadline(t), r, lock.AcquireScript,
				lock.AcquireIn{Lock: name, LineKeys: line, Token: "t", TTLMS: 60_000}, lua.Latch{}, 1, 1)
			require.NoError(t, err)
			_, err = lua.Run(deadline(t), r, lock.AcquireScript,
				lock.AcquireIn{Lock: name, LineKeys: line, Token: "u", TTLMS: 60_000, Waiter: "s:1", BeatMS: 3000}, lua.Latch{})
			require.NoError(t, err)
			beat, err := lua.Run(deadline(t), r, lease.LineBeat,
				lease.LineBeatIn{LineKeys: line, Sidecar: "s", BeatMS: 3000, Waiters: strings.Join([]string{"s:1"}, " "), Gone: "s:0"}, lua.Latch{})
			require.NoError(t, err)
			require.Equal(t, "s:1", beat.Value.Head)
			_, err = lua.Run(deadline(t), r, lock.ReleaseScript,
				lock.ReleaseIn{Lock: name, LineKeys: line, Token: "t", Inboxes: "coxswain:v1:inbox:"}, lua.Latch{})
			require.NoError(t, err)
			_, err = lua.Run(deadline(t), r, lock.GetScript, lock.GetIn{Lock: name, Line: line.Line}, lua.Latch{})
			require.NoError(t, err)
			require.NoError(t, untilUpOn(t, r, key))
			require.True(t, r.Status().ScriptsLoaded)
			require.Equal(t, "noeviction", r.Status().EvictionPolicy)
			h, _ := listen(t, r, "coxswain:v1:inbox:s", "coxswain:v1:broadcast")
			next(t, h.subscribed)
			_, err = take(deadline(t), r, "elsewhere", 5)
			require.ErrorContains(t, err, "NOPERM")
		})
	}
}

// untilUpOn is untilUp with a key that the user may use.
func untilUpOn(t *testing.T, r *lua.Runner, key string) error {
	_, err := lua.Run(deadline(t), r, ratelimit.ResetScript, ratelimit.ResetIn{State: key}, lua.Latch{})
	return err
}

// The same in the page: nobody runs every branch of every script as that user.
func TestTheDocumentedUserMayRunWhatScriptsRun(t *testing.T) {
	t.Parallel()
	acl := documentedACL(t)
	command := regexp.MustCompile(`redis\.p?call\('([A-Z]+)'`)
	for name, text := range sources(t) {
		for _, m := range command.FindAllStringSubmatch(text, -1) {
			require.Contains(t, acl, "+"+strings.ToLower(m[1]), "%s runs %s", name, m[1])
		}
	}
}
