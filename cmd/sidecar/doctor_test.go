package main_test

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	main "github.com/coxswain-sidecar/coxswain/cmd/sidecar"
	"github.com/coxswain-sidecar/coxswain/internal/doctor"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

// examine runs sidecar doctor and returns what it found, by check, and its exit code.
func examine(t *testing.T, env []string, args ...string) (map[string]doctor.Finding, int) {
	t.Helper()
	a := cliWith(t, "", env, append([]string{"doctor", "-o", "json", "--timeout", "60s"}, args...)...)
	var r doctor.Report
	require.NoError(t, json.Unmarshal([]byte(a.out), &r), "%s%s", a.out, a.err)
	require.Equal(t, r.OK, a.code == main.OK)
	found := map[string]doctor.Finding{}
	for _, f := range r.Checks {
		require.Equal(t, "docs/doctor.md#"+f.ID, f.Docs)
		if f.State == doctor.Warn || f.State == doctor.Fail {
			require.NotEmpty(t, f.Cause, f.ID)
			require.NotEmpty(t, f.Fix, f.ID)
		}
		found[f.ID] = f
	}
	return found, a.code
}

// broken is what one set-up is told: the check that names it, and a part of cause and fix.
type broken struct{ id, state, cause, fix string }

// names looks for what a set-up is told, and that no other check fails.
func (b broken) names(t *testing.T, found map[string]doctor.Finding) {
	t.Helper()
	f := found[b.id]
	require.Equal(t, b.state, f.State, "%s: %+v", b.id, found)
	require.Contains(t, f.Cause, b.cause)
	require.Contains(t, f.Fix, b.fix)
	for id, other := range found {
		if id != b.id {
			require.NotEqual(t, doctor.Fail, other.State, "%+v", other)
		}
	}
}

// before looks before a start, with a Redis and more.
func before(t *testing.T, url string, env ...string) map[string]doctor.Finding {
	t.Helper()
	found, _ := examine(t, env, "--pre", "--socket", socketIn(t), "--http", "127.0.0.1:0", "--redis", url)
	return found
}

// user is the URL of a server with a login.
func user(s *redistest.Server, login string) string {
	return "redis://" + login + "@" + strings.TrimPrefix(s.URL(), "redis://")
}

func instruct(t testing.TB, s *redistest.Server, args ...any) {
	t.Helper()
	require.NoError(t, s.Client(t).Do(t.Context(), args...).Err())
}

func TestDoctorNamesWhatIsWrongWithRedis(t *testing.T) {
	t.Parallel()
	allowed := []string{"~*", "&*", "+@all"}
	for name, c := range map[string]struct {
		url  func(t testing.TB) string
		want broken
	}{
		"no Redis": {
			func(t testing.TB) string { return "redis://" + closedPort(t) },
			broken{"redis-reach", doctor.Fail, "nothing listens", "check redis.url and that Redis runs"},
		},
		"a name that nobody knows": {
			func(testing.TB) string { return "redis://redis.invalid:6379" },
			broken{"redis-name", doctor.Fail, "its host name has no address", "check the name in redis.url"},
		},
		"a wrong password": {
			func(t testing.TB) string { return user(redistest.Start(t, "--requirepass", "right"), ":wrong") },
			broken{"redis-login", doctor.Fail, "refuses the user or the password", "redis.password_file"},
		},
		"no password": {
			func(t testing.TB) string { return redistest.Start(t, "--requirepass", "right").URL() },
			broken{"redis-login", doctor.Fail, "NOAUTH", "redis.password_file"},
		},
		"protected mode": {protected, broken{"redis-login", doctor.Fail, "protected mode", "set a password for its user"}},
		"no scripting": {func(t testing.TB) string {
			return user(redistest.StartUser(t, "u", "pw", append(allowed, "-@scripting")...), "u:pw")
		}, broken{"redis-acl", doctor.Fail, "SCRIPT", "docs/redis.md"}},
		"a command of scripts denied": {func(t testing.TB) string {
			return user(redistest.StartUser(t, "u", "pw", append(allowed, "-zadd", "-pexpire")...), "u:pw")
		}, broken{"redis-acl", doctor.Fail, "PEXPIRE, ZADD", "docs/redis.md"}},
		"keys of another prefix alone": {func(t testing.TB) string {
			return user(redistest.StartUser(t, "u", "pw", "~other:*", "&*", "+@all"), "u:pw")
		}, broken{"redis-acl", doctor.Fail, "NOPERM", "docs/redis.md"}},
		"no INFO": {func(t testing.TB) string {
			return user(redistest.StartUser(t, "u", "pw", append(allowed, "-info")...), "u:pw")
		}, broken{"redis-acl", doctor.Warn, "without INFO: version, role", "docs/redis.md"}},
		"no channels": {func(t testing.TB) string {
			return user(redistest.StartUser(t, "u", "pw", "~*", "+@all"), "u:pw")
		}, broken{"redis-acl", doctor.Warn, "without SUBSCRIBE: pubsub.subscribe fails", "docs/redis.md"}},
		"EVALSHA renamed": {
			func(t testing.TB) string { return redistest.Start(t, "--rename-command", "EVALSHA", "").URL() },
			broken{"redis-commands", doctor.Fail, "does not know EVALSHA", "remove its rename-command line"},
		},
		"a read-only replica": {func(t testing.TB) string {
			s := redistest.Start(t)
			instruct(t, s, "replicaof", "127.0.0.1", "1")
			return s.URL()
		}, broken{"redis-role", doctor.Fail, "read only (READONLY)", "set redis.url to the master"}},
		"a replica that takes writes": {func(t testing.TB) string {
			s := redistest.Start(t)
			instruct(t, s, "config", "set", "replica-read-only", "no")
			instruct(t, s, "replicaof", "127.0.0.1", "1")
			return s.URL()
		}, broken{"redis-role", doctor.Fail, "replica that takes writes", "name the master"}},
		"too few replicas": {
			func(t testing.TB) string { return redistest.Start(t, "--min-replicas-to-write", "2").URL() },
			broken{"redis-replicas", doctor.Fail, "NOREPLICAS", "min-replicas-to-write"},
		},
		"no memory left": {
			func(t testing.TB) string { return redistest.Start(t, "--maxmemory", "1").URL() },
			broken{"redis-memory", doctor.Fail, "out of memory", "raise maxmemory"},
		},
		"little memory left": {func(t testing.TB) string {
			s := redistest.Start(t)
			instruct(t, s, "setrange", "filler", 60<<20, "x") // which leaves no buffer of a client
			used, err := s.Client(t).Info(t.Context(), "memory").Result()
			require.NoError(t, err)
			_, after, _ := strings.Cut(used, "used_memory:")
			bytes, _, _ := strings.Cut(after, "\r\n")
			n, err := strconv.Atoi(bytes)
			require.NoError(t, err)
			instruct(t, s, "config", "set", "maxmemory", n+n/16) // room for the scripts of a look
			return s.URL()
		}, broken{"redis-memory", doctor.Warn, "nearly all of its maxmemory", "raise maxmemory"}},
		"keys are evicted": {
			func(t testing.TB) string { return redistest.Start(t, "--maxmemory-policy", "allkeys-lru").URL() },
			broken{"redis-eviction", doctor.Warn, "may evict limits and locks", "maxmemory-policy noeviction"},
		},
		"no such database": {
			func(t testing.TB) string { return redistest.Start(t, "--databases", "2").URL() + "/7" },
			broken{"redis-topology", doctor.Fail, "no such database", "the number in redis.url"},
		},
		"a cluster that is none": {func(t testing.TB) string {
			return strings.Replace(redistest.Start(t).URL(), "redis://", "redis+cluster://", 1)
		}, broken{"redis-topology", doctor.Fail, "is not a cluster", "write redis://"}},
		"no room": {func(t testing.TB) string {
			s := redistest.Start(t, "--maxclients", "1")
			require.NoError(t, s.Client(t).Ping(t.Context()).Err())
			return s.URL()
		}, broken{"redis-reach", doctor.Fail, "accepts no more clients", "raise maxclients"}},
		"no TLS at the server": {func(t testing.TB) string {
			return strings.Replace(redistest.Start(t).URL(), "redis://", "rediss://", 1)
		}, broken{"redis-tls", doctor.Fail, "TLS handshake", "write redis:// for rediss://"}},
		"TLS at the server alone": {func(t testing.TB) string {
			return strings.Replace(redistest.StartTLS(t).URL(), "rediss://", "redis://", 1)
		}, broken{"redis-tls", doctor.Fail, "closes new connections without a reply", "write rediss:// for redis://"}},
		"a certificate of a stranger": {
			func(t testing.TB) string { return redistest.StartTLS(t).URL() },
			broken{"redis-tls", doctor.Fail, "certificate of redis is not trusted", "redis.tls.ca_file"},
		},
		"a master that sentinels do not know": {func(t testing.TB) string {
			return strings.Replace(redistest.Start(t).URL(), "redis://", "redis+sentinel://", 1) + "/m"
		}, broken{"redis-sentinel", doctor.Fail, "does not know the command that asks for the master", "name sentinels in redis.url"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := before(t, c.url(t), "COXSWAIN_REDIS_POOL_DIAL_TIMEOUT=2s", "COXSWAIN_REDIS_POOL_COMMAND_TIMEOUT=20s")
			c.want.names(t, found)
		})
	}
}

// closedPort is an address of this machine at which nothing listens, until the test ends: a socket that does not listen
// has it, so that the system gives it to nobody else.
func closedPort(t testing.TB) string {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, unix.Close(fd)) })
	require.NoError(t, unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	at, err := unix.Getsockname(fd)
	require.NoError(t, err)
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(at.(*unix.SockaddrInet4).Port))
}

// freePort is an address of this machine at which a program can listen. It is below those that the system gives to
// outgoing connections, and to listeners on port 0, and below those of redistest, so that nobody takes it meanwhile.
func freePort(t testing.TB) string {
	t.Helper()
	for range 100 {
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(12_000+rand.IntN(8_000))))
		if err == nil {
			require.NoError(t, l.Close())
			return l.Addr().String()
		}
	}
	t.Fatal("no port is free")
	return ""
}

// protected answers as a server in protected mode does, whose clients come from elsewhere: no test can.
func protected(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte("-DENIED Redis is running in protected mode because protected mode is enabled\r\n"))
			_ = c.(*net.TCPConn).CloseWrite()
			go func() { // the client may still write; without a reader it would get a reset in place of the answer
				_, _ = io.Copy(io.Discard, c)
				_ = c.Close()
			}()
		}
	}()
	return "redis://" + l.Addr().String()
}

// stale leaves the socket of a sidecar that died.
func stale(t testing.TB) string {
	t.Helper()
	path := socketIn(t)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
	require.NoError(t, err)
	l.SetUnlinkOnClose(false)
	require.NoError(t, l.Close())
	return path
}

func TestDoctorNamesWhatIsWrongWithTheSocket(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		socket func(t testing.TB) string
		args   []string
		env    []string
		want   broken
	}{
		"its folder is missing": {
			func(t testing.TB) string { return filepath.Join(socketIn(t), "s") }, nil, nil,
			broken{"socket-folder", doctor.Fail, "there is no folder", "mount the sidecar's volume there"},
		},
		"no sidecar":   {socketIn, nil, nil, broken{"socket-file", doctor.Fail, "there is no such file", "start it with sidecar serve"}},
		"a stale file": {stale, nil, nil, broken{"socket-file", doctor.Fail, "left by a sidecar that died", "start one: it takes the file over"}},
		"another mode": {func(t testing.TB) string {
			s := ready(t)
			require.NoError(t, os.Chmod(s.socket, 0o600))
			return s.socket
		}, nil, nil, broken{"socket-file", doctor.Fail, "mode 0600, and socket.mode is 0660", "restart the sidecar"}},
		"another owner": {
			func(t testing.TB) string { return ready(t).socket }, nil,
			[]string{"COXSWAIN_SOCKET_GID=" + strconv.Itoa(os.Getegid()+1)},
			broken{"socket-file", doctor.Fail, "and socket.gid is", "restart the sidecar"},
		},
		"it hangs": {func(t testing.TB) string {
			l, err := net.Listen("unix", socketIn(t))
			require.NoError(t, err)
			t.Cleanup(func() { _ = l.Close() })
			require.NoError(t, os.Chmod(l.Addr().String(), 0o660))
			return l.Addr().String()
		}, nil, nil, broken{"sidecar", doctor.Fail, "does not answer in time", "look at its log"}},
		"it turns this user away": {func(t testing.TB) string {
			s := serve(t, socketIn(t), []string{noGrace, "COXSWAIN_SOCKET_ALLOWED_UIDS=" + strconv.Itoa(os.Geteuid()+1)}, "--redis", redistest.URL(t))
			s.logs(t, `"msg":"serving"`)
			return s.socket
		}, nil, nil, broken{"sidecar", doctor.Fail, "turns this process away", "socket.allowed_uids"}},
		"its Redis is away": {func(t testing.TB) string {
			s := serve(t, socketIn(t), []string{noGrace}, "--redis", "redis://"+closedPort(t))
			s.logs(t, "health: not ready")
			s.logs(t, "health: live")
			return s.socket
		}, nil, nil, broken{"sidecar", doctor.Fail, "it is not ready\n  redis: 127.0.0.1:", "check redis.url and that Redis runs"}},
		"the folder is a file, before a start": {func(t testing.TB) string {
			path := socketIn(t)
			require.NoError(t, os.WriteFile(path, nil, 0o600))
			return filepath.Join(path, "s")
		}, []string{"--pre"}, nil, broken{"socket-folder", doctor.Fail, "is a file, and the socket needs a folder", "remove it"}},
		"the folder is below a file, before a start": {func(t testing.TB) string {
			path := socketIn(t)
			require.NoError(t, os.WriteFile(path, nil, 0o600))
			return filepath.Join(path, "run", "s")
		}, []string{"--pre"}, nil, broken{"socket-folder", doctor.Fail, "it cannot be made: ", "remove it"}},
		"the folder is a file": {func(t testing.TB) string {
			path := socketIn(t)
			require.NoError(t, os.WriteFile(path, nil, 0o600))
			return filepath.Join(path, "s")
		}, nil, nil, broken{"socket-folder", doctor.Fail, "is a file, and the socket needs a folder", "name the socket with --socket"}},
		"a file in the way, before a start": {func(t testing.TB) string {
			path := socketIn(t)
			require.NoError(t, os.WriteFile(path, nil, 0o600))
			return path
		}, []string{"--pre"}, nil, broken{"socket-file", doctor.Fail, "a file that is no socket is in the way", "remove it"}},
		"another sidecar, before a start": {
			func(t testing.TB) string { return ready(t).socket },
			[]string{"--pre"},
			nil,
			broken{"socket-file", doctor.Fail, "another sidecar listens there", "stop it, or set socket.path"},
		},
		"the folder is open to all, before a start": {func(t testing.TB) string {
			path := socketIn(t)
			require.NoError(t, os.Chmod(filepath.Dir(path), 0o777))
			return path
		}, []string{"--pre"}, nil, broken{"socket-folder", doctor.Warn, "every user may replace the socket", "chmod"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			socket := c.socket(t)
			found, _ := examine(t, c.env, append([]string{"--socket", socket, "--http", "127.0.0.1:0", "--redis", redistest.URL(t)}, c.args...)...)
			c.want.names(t, found)
		})
	}
}

func TestDoctorNamesThePortOfTheHealthPages(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	found, _ := examine(t, nil, "--pre", "--socket", socketIn(t), "--http", l.Addr().String(), "--redis", redistest.URL(t))
	broken{"http", doctor.Fail, "the port is taken", "stop what listens there"}.names(t, found)
	require.Equal(t, l.Addr().String(), found["http"].Found)

	// It asks the running sidecar where they are, if that tells it.
	addr := freePort(t)
	s := serve(t, socketIn(t), []string{noGrace}, "--redis", redistest.URL(t), "--http", addr)
	wait(t, s.socket)
	found, _ = examine(t, []string{noGrace}, "--socket", s.socket, "--http", closedPort(t), "--redis", redistest.URL(t))
	require.Equal(t, doctor.OK, found["http"].State)
	require.Equal(t, addr+", /livez answers 200", found["http"].Found)
	silent := ready(t, "COXSWAIN_SOCKET_ADMIN_ENABLED=false")
	found, _ = examine(t, nil, "--socket", silent.socket, "--http", closedPort(t), "--redis", redistest.URL(t))
	broken{"http", doctor.Fail, "the health pages do not answer", "restart the sidecar"}.names(t, found)
}

func TestDoctorComparesWithWhatIsInForce(t *testing.T) {
	t.Parallel()
	s := ready(t, "COXSWAIN_LIMITS_MAX_DEPTH=9")
	found, _ := examine(t, nil, "--socket", s.socket, "--http", "127.0.0.1:0", "--redis", redistest.URL(t))
	broken{
		"sidecar", doctor.Warn, "the running sidecar has other values of redis.prefix, limits.max_depth, limits.shutdown_grace",
		"give doctor the same --config",
	}.names(t, found)
}

func TestDoctorNamesWhatIsWrongWithTheConfiguration(t *testing.T) {
	t.Parallel()
	const rule = "rules:\n  items:\n    - {name: a, algorithm: token_bucket, limits: [{limit: 1, period_ms: %d}]}\n"
	good := fmt.Sprintf(rule, 1000)
	for name, c := range map[string]struct {
		text string
		want broken
	}{
		"an unknown key": {"redis:\n  pol: 5\n", broken{"config", doctor.Fail, "c.yaml:2: redis.pol: unknown key; did you mean pool?", "config check"}},
		"no YAML":        {"redis: [\n", broken{"config", doctor.Fail, "not YAML", "config check"}},
		"a bad rule":     {fmt.Sprintf(rule, 0), broken{"rules", doctor.Fail, "c.yaml:3: rules.items[0].limits[0].period_ms", "config check"}},
		"a rule with an unknown key": {
			strings.Replace(good, "limits:", "limit:", 1),
			broken{"rules", doctor.Fail, "unknown key; did you mean limits?", "config check"},
		},
		"a bad policy": {
			"breakers:\n  items:\n    - {name: b, trip: {consecutive_failures: -1}}\n",
			broken{"breakers", doctor.Fail, "breakers.items[0]", "config check"},
		},
		"a byte order mark": {"\ufeff" + good, broken{"config-bom", doctor.Warn, "begins with a byte order mark (BOM)", "save the file as UTF-8 without"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "c.yaml")
			require.NoError(t, os.WriteFile(file, []byte(c.text), 0o600))
			c.want.names(t, before(t, redistest.URL(t), "COXSWAIN_CONFIG="+file))
		})
	}
	// A mark that keeps the file from being read is told by both.
	for name, text := range map[string]string{
		"is UTF-16":      "\xff\xfer\x00",
		"line 4 begins ": good + "\ufeffhttp: {}\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "c.yaml")
			require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
			found := before(t, redistest.URL(t), "COXSWAIN_CONFIG="+file)
			require.Contains(t, found["config-bom"].Cause, name)
			require.Equal(t, doctor.Fail, found["config-bom"].State)
			require.Contains(t, found["config"].Cause, name)
			require.Equal(t, "config has to be in order first", found["redis-reach"].Cause)
		})
	}
}

func TestDoctorDoesNotHangWhereRedisDoes(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	s.Pause()
	found := before(t, s.URL(), "COXSWAIN_REDIS_POOL_COMMAND_TIMEOUT=200ms")
	broken{"redis-reach", doctor.Fail, "accepts connections and does not reply", "busy with one slow command"}.names(t, found)
	env := []string{"COXSWAIN_REDIS_POOL_COMMAND_TIMEOUT=60s"} // longer than the time that the doctor has
	found, code := examine(t, env, "--pre", "--socket", socketIn(t), "--http", "127.0.0.1:0", "--redis", s.URL(), "--timeout", "3s")
	require.Equal(t, main.Failed, code)
	require.Contains(t, found["redis-reach"].Cause, "did not end in time")
}

func TestDoctorNamesAFileOfTheConnectionThatIsMissing(t *testing.T) {
	t.Parallel()
	found := before(t, redistest.URL(t), "COXSWAIN_REDIS_PASSWORD_FILE="+filepath.Join(t.TempDir(), "password"))
	broken{"redis-files", doctor.Fail, "redis.password_file: open ", "redis.password_file"}.names(t, found)
	found = before(t, "redis+sentinel://"+closedPort(t)+"/m", "COXSWAIN_REDIS_SENTINEL_PASSWORD_FILE="+filepath.Join(t.TempDir(), "password"))
	delete(found, "redis-reach") // which fails too: nothing listens there
	broken{"redis-files", doctor.Fail, "redis.sentinel.password_file: open ", "correct redis.sentinel.password_file"}.names(t, found)
	file := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(file, []byte("no PEM"), 0o600))
	found = before(t, "rediss://"+closedPort(t), "COXSWAIN_REDIS_TLS_CA_FILE="+file)
	delete(found, "redis-reach")
	broken{"redis-files", doctor.Fail, "redis.tls.ca_file: the file has no certificate", "correct redis.tls.ca_file"}.names(t, found)
}

func TestDoctorNamesATrustedCertificate(t *testing.T) {
	t.Parallel()
	s := redistest.StartTLS(t)
	shown := []string{"COXSWAIN_REDIS_TLS_CERT_FILE=" + s.Cert, "COXSWAIN_REDIS_TLS_KEY_FILE=" + s.Key}
	for name, c := range map[string]struct {
		env  []string
		want broken
	}{
		"another authority": {append(shown, "COXSWAIN_REDIS_TLS_CA_FILE="+s.Other), broken{"redis-tls", doctor.Fail, "is not trusted", "redis.tls.ca_file"}},
		"another name": {
			append(shown, "COXSWAIN_REDIS_TLS_CA_FILE="+s.CA, "COXSWAIN_REDIS_TLS_SERVER_NAME=elsewhere.test"),
			broken{"redis-tls", doctor.Fail, "elsewhere.test", "redis.tls.server_name"},
		},
		"no certificate shown": {[]string{"COXSWAIN_REDIS_TLS_CA_FILE=" + s.CA}, broken{"redis-tls", doctor.Fail, "TLS handshake", "redis.tls.cert_file"}},
		"all as it should be":  {append(shown, "COXSWAIN_REDIS_TLS_CA_FILE="+s.CA), broken{"redis-tls", doctor.OK, "", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.want.names(t, before(t, s.URL(), c.env...))
		})
	}
}

func TestDoctorNamesACollectorThatIsAway(t *testing.T) {
	t.Parallel()
	away := closedPort(t)
	found := before(t, redistest.URL(t), "OTEL_EXPORTER_OTLP_ENDPOINT=http://"+away)
	broken{"telemetry", doctor.Warn, "nothing takes connections at " + away + ", which OTEL_EXPORTER_OTLP_ENDPOINT names", "start the collector"}.names(t, found)
	found = before(t, redistest.URL(t), "OTEL_EXPORTER_OTLP_ENDPOINT=localhost:4318")
	broken{"telemetry", doctor.Warn, `is "localhost:4318", which is no URL`, "write a scheme and a host"}.names(t, found)
	require.NotContains(t, before(t, redistest.URL(t)), "telemetry")
	for _, target := range []string{"dns:///" + away, "unix:///run/collector.sock"} { // which gRPC resolves
		found = before(t, redistest.URL(t), "OTEL_EXPORTER_OTLP_ENDPOINT="+target, "OTEL_EXPORTER_OTLP_PROTOCOL=grpc")
		require.NotContains(t, found, "telemetry")
	}
	found = before(t, redistest.URL(t), "OTEL_EXPORTER_OTLP_ENDPOINT="+away, "OTEL_EXPORTER_OTLP_PROTOCOL=grpc")
	broken{"telemetry", doctor.Warn, "nothing takes connections at " + away, "start the collector"}.names(t, found)
}

// worked has used every noun, so that all kinds of keys are there.
func worked(t *testing.T, s *sidecar) {
	t.Helper()
	for method, params := range map[string]string{
		"ratelimit.acquire":  `{"key":"k","algorithm":"token_bucket","limits":[{"limit":5,"period_ms":1000}]}`,
		"ratelimit.put_rule": `{"rule":{"name":"r","algorithm":"token_bucket","limits":[{"limit":5,"period_ms":1000}]}}`,
		"lock.acquire":       `{"name":"l","bind":"ttl","_request_id":"one"}`,
		"semaphore.acquire":  `{"name":"s","limit":2,"bind":"ttl"}`,
		"queue.enqueue":      `{"queue":"q","id":"e"}`,
		"seen.reserve":       `{"set":"s","key":"k","bind":"ttl"}`,
		"breaker.force":      `{"name":"b","state":"open"}`,
		"pool.put":           `{"pool":"p","members":[{"id":"m"}]}`,
		"stream.publish":     `{"stream":"orders","body":"x","dedupe_id":"d"}`,
	} {
		call(t, s.socket, method, params)
	}
	call(t, s.socket, "pool.acquire", `{"pool":"p","bind":"ttl"}`)
}

func TestDoctorFindsNothingWrongWhereNothingIs(t *testing.T) {
	t.Parallel()
	prefix := "COXSWAIN_REDIS_PREFIX=" + redistest.Prefix(t)
	s := ready(t, prefix)
	worked(t, s)
	healthy(t, []string{prefix, noGrace}, "--socket", s.socket, "--http", "127.0.0.1:0", "--redis", redistest.URL(t))
	healthy(t, []string{prefix}, "--pre", "--socket", stale(t), "--http", "127.0.0.1:0", "--redis", redistest.URL(t))

	alone := serve(t, socketIn(t), []string{noGrace}, "--redis", "embedded")
	wait(t, alone.socket)
	found, code := examine(t, []string{noGrace}, "--socket", alone.socket, "--http", "", "--redis", "embedded")
	require.Equal(t, main.OK, code)
	for id, f := range found {
		if id == "redis-reach" {
			require.Equal(t, "its state is in this process alone and ends with it; for development only", f.Cause)
			continue
		}
		require.Equal(t, doctor.OK, f.State, "%+v", f)
	}
	require.Equal(t, main.Failed, cli(t, "doctor", "--strict", "--socket", alone.socket, "--http", "", "--redis", "embedded").code)
}

// healthy asks for no warning and no failure, and returns what was found.
func healthy(t *testing.T, env []string, args ...string) map[string]doctor.Finding {
	t.Helper()
	found, code := examine(t, env, append(args, "--strict")...)
	require.Equal(t, main.OK, code, "%+v", found)
	for _, f := range found {
		require.Equal(t, doctor.OK, f.State, "%+v", f)
	}
	return found
}

func TestDoctorNamesKeysWithoutATTL(t *testing.T) {
	t.Parallel()
	prefix := redistest.Prefix(t)
	s := ready(t, "COXSWAIN_REDIS_PREFIX="+prefix)
	worked(t, s)
	store := redistest.Client(t)
	keys, err := store.Keys(t.Context(), prefix+":*:lock").Result()
	require.NoError(t, err)
	require.Len(t, keys, 1)
	require.NoError(t, store.Persist(t.Context(), keys[0]).Err())
	found := before(t, redistest.URL(t), "COXSWAIN_REDIS_PREFIX="+prefix)
	broken{"redis-ttl", doctor.Warn, "1 key of ours without a TTL that should have one: " + keys[0], "EXPIRE or DEL them"}.names(t, found)
}

func TestDoctorAndServeReportTheSameFindings(t *testing.T) {
	t.Parallel()
	socket := socketIn(t)
	require.NoError(t, os.WriteFile(socket, nil, 0o600))
	found, _ := examine(t, nil, "--pre", "--socket", socket, "--http", "127.0.0.1:0", "--redis", redistest.URL(t))
	a := cli(t, "serve", "--socket", socket, "--http", "", "--redis", "embedded")
	require.Equal(t, main.Failed, a.code)
	require.Contains(t, a.err, found["socket-file"].Cause+"; "+found["socket-file"].Fix)
	require.Contains(t, a.err, `"docs":"docs/doctor.md#socket-file"`)

	redis := "redis://" + closedPort(t)
	s := serve(t, socketIn(t), []string{noGrace}, "--redis", redis)
	s.logs(t, "health: not ready")
	s.logs(t, "health: live")
	found, _ = examine(t, nil, "--socket", s.socket, "--http", s.httpAddr(t), "--redis", redis)
	reach := found["redis-reach"]
	require.Equal(t, doctor.Fail, reach.State)
	for _, c := range call(t, s.socket, "health.get", "{}")["checks"].([]any) {
		check := c.(map[string]any)
		if check["name"] == "redis" {
			require.Equal(t, []any{reach.Cause, reach.Fix, reach.Docs}, []any{check["cause"], check["fix"], check["docs"]})
		}
	}
	resp, err := http.Get("http://" + s.httpAddr(t) + "/readyz?verbose")
	require.NoError(t, err)
	defer resp.Body.Close()
	var page struct {
		Checks []struct{ Name, Cause, Fix, Docs string }
	}
	require.NoError(t, json.NewDecoder(resp.Body).Decode(&page))
	i := slices.IndexFunc(page.Checks, func(c struct{ Name, Cause, Fix, Docs string }) bool { return c.Name == "redis" })
	require.Equal(t, reach.Fix, page.Checks[i].Fix)
}

func TestDoctorWritesForPeople(t *testing.T) {
	t.Parallel()
	a := cliWith(t, "", []string{"COXSWAIN_REDIS_URL=redis://u:hunter2@" + closedPort(t)}, "doctor", "--pre", "--http", "127.0.0.1:0",
		"--socket", filepath.Dir(socketIn(t))+"/a\x1b[31m\u009b"+strings.Repeat("long ", 9))
	require.Equal(t, main.Failed, a.code)
	require.Regexp(t, `(?m)^FAIL redis-reach `, a.out)
	require.NotContains(t, a.out, "\x1b")
	require.NotContains(t, a.out, "\u009b")
	require.NotContains(t, a.out, "hunter2")
	for line := range strings.Lines(a.out) {
		require.LessOrEqual(t, len([]rune(line)), 101, "%s", line)
	}
	require.Equal(t, main.Usage, cli(t, "doctor", "-o", "xml").code)
	require.Equal(t, main.Usage, cli(t, "doctor", "--timeout", "0s").code)
	require.Equal(t, main.Usage, cli(t, "doctor", "now").code)
}

// Each check has a section, with cause and fix, and each section is of a check.
func TestEveryCheckHasItsSection(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/doctor.md")
	require.NoError(t, err)
	var sections []string
	for _, m := range regexp.MustCompile("(?m)^### ([a-z-]+)$").FindAllStringSubmatch(string(text), -1) {
		sections = append(sections, m[1])
	}
	require.Equal(t, doctor.IDs(), sections)
	for _, section := range strings.Split(string(text), "\n### ")[1:] {
		require.Contains(t, section, "**Cause.**", section)
		require.Contains(t, section, "**Fix.**", section)
	}
}
