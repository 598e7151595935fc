package lua_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

func TestTLSFilesAreReadForEachConnection(t *testing.T) {
	t.Parallel()
	s := redistest.StartTLS(t)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	copyFile(t, s.Other, ca)
	r := luatest.Open(t, lua.Options{
		URL: s.URL(), TLS: redis.TLSFiles{CA: ca, Cert: s.Cert, Key: s.Key, ServerName: redistest.ServerName},
	})
	_, err := take(luatest.Deadline(t), r, "k", 5)
	require.ErrorIs(t, err, redis.ErrUnavailable)
	require.ErrorContains(t, err, "certificate")
	// The right certificate after a byte order mark, which some editors write.
	text, err := os.ReadFile(s.CA)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(ca, append([]byte("\ufeff"), text...), 0o600))
	require.NoError(t, luatest.UntilUp(t, r))
	_, err = take(luatest.Deadline(t), r, "k", 5)
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
		_, err := take(luatest.Deadline(t), luatest.Open(t, lua.Options{URL: s.URL(), TLS: files}), "k", 5)
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
	r := luatest.Open(t, lua.Options{URL: "unix://" + path + "?db=3"})
	_, err := take(luatest.Deadline(t), r, "k", 5)
	require.NoError(t, err)
	require.Equal(t, path, r.Status().Address)
	require.Zero(t, s.Client(t).DBSize(luatest.Deadline(t)).Val())
}

func TestARotatedPasswordWorksWithoutARestart(t *testing.T) {
	t.Parallel()
	s := redistest.StartUser(t, "app", "first", "~*", "&*", "+@all")
	file := filepath.Join(t.TempDir(), "password")
	require.NoError(t, os.WriteFile(file, []byte("first\n"), 0o600))
	r := luatest.Open(t, lua.Options{
		URL: "redis://other:wrong@" + strings.TrimPrefix(s.URL(), "redis://"), Username: "app", PasswordFile: file,
	})
	_, err := take(luatest.Deadline(t), r, "k", 5)
	require.NoError(t, err)
	admin := s.Client(t)
	require.NoError(t, admin.Do(luatest.Deadline(t), "acl", "setuser", "app", "resetpass", ">second").Err())
	require.NoError(t, admin.Do(luatest.Deadline(t), "client", "kill", "user", "app").Err())
	untilDown(t, r)
	require.ErrorContains(t, r.Status().Trouble, "WRONGPASS")
	require.NotContains(t, r.Status().Trouble.Error(), "first")
	require.NoError(t, os.WriteFile(file, []byte("\ufeffsecond"), 0o600))
	require.NoError(t, luatest.UntilUp(t, r))
}
