package httplimit_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/httplimit"
)

// from returns a request of a peer with these header lines, given as names and values in turn.
func from(remote string, lines ...string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.RemoteAddr = remote
	for i := 0; i < len(lines); i += 2 {
		r.Header.Add(lines[i], lines[i+1])
	}
	return r
}

const (
	stranger = "203.0.113.9:4711"
	// The SHA-256 of "secret": printf %s secret | sha256sum
	secretKey = "token:2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b"
)

func TestTheCallerIsFoundInOrder(t *testing.T) {
	t.Parallel()
	all := []string{"Authorization", "Bearer secret", "User-Id", "bob", "X-User-Id", "alice"}
	for _, c := range []struct {
		lines []string
		want  string
	}{
		{all, "user:alice"},
		{all[:4], "user:bob"},
		{all[:2], secretKey},
		{nil, "ip:203.0.113.9"},
		{[]string{"Authorization", "bEARER  secret"}, secretKey},
		{[]string{"Authorization", "Basic dTpw"}, "ip:203.0.113.9"},
		{[]string{"Authorization", "Basic dTpw", "User-Id", "bob"}, "user:bob"},
		{[]string{"X-User-Id", "203.0.113.9"}, "user:203.0.113.9"},
		{[]string{"X-User-Id", strings.Repeat("x", 128)}, "user:" + strings.Repeat("x", 128)},
		{[]string{"X-User-Id", "Zoë, 100% {a}:b"}, "user:Zoë, 100% {a}:b"},
	} {
		got, err := httplimit.Callers{}.Key(from(stranger, c.lines...))
		require.NoError(t, err)
		require.Equal(t, c.want, got, "%q", c.lines)
	}
}

func TestOtherSourcesInOtherOrder(t *testing.T) {
	t.Parallel()
	c := httplimit.Callers{Sources: []httplimit.Source{httplimit.SourceIP, httplimit.SourceXUserID}}
	got, err := c.Key(from(stranger, "X-User-Id", "alice"))
	require.NoError(t, err)
	require.Equal(t, "ip:203.0.113.9", got)

	c.Sources = []httplimit.Source{"X-Account", httplimit.SourceBearer}
	got, err = c.Key(from(stranger, "X-User-Id", "alice", "x-account", "acme"))
	require.NoError(t, err)
	require.Equal(t, "user:acme", got)
	_, err = c.Key(from(stranger, "X-User-Id", "alice"))
	require.EqualError(t, err, "nothing says who is calling; send one of: X-Account, Authorization: Bearer")
}

func TestABadIdentifierIsNamedAndNotRepeated(t *testing.T) {
	t.Parallel()
	const remedy = "; send 1 to 128 bytes of UTF-8 without control characters, or leave it out"
	const token = "the bearer token of Authorization cannot be read; send one, of 1 to 8192 visible ASCII characters"
	for _, c := range []struct {
		lines []string
		want  string
	}{
		{[]string{"X-User-Id", ""}, "X-User-Id is empty" + remedy},
		{[]string{"User-Id", ""}, "User-Id is empty" + remedy},
		{[]string{"X-User-Id", "", "User-Id", "bob"}, "X-User-Id is empty" + remedy},
		{[]string{"X-User-Id", strings.Repeat("x", 129)}, "X-User-Id is too long" + remedy},
		{[]string{"X-User-Id", "a\tb"}, "X-User-Id has control characters" + remedy},
		{[]string{"X-User-Id", "a\u0085b"}, "X-User-Id has control characters" + remedy},
		{[]string{"X-User-Id", "a\xffb"}, "X-User-Id is not valid UTF-8" + remedy},
		{[]string{"X-User-Id", "alice", "X-User-Id", "bob"}, "X-User-Id is given more than once" + remedy},
		{[]string{"Authorization", "Bearer"}, token},
		{[]string{"Authorization", "Bearer  "}, token},
		{[]string{"Authorization", "Bearer sec ret"}, token},
		{[]string{"Authorization", "Bearer s\xc3\xa4"}, token},
		{[]string{"Authorization", "Bearer " + strings.Repeat("x", 8193)}, token},
		{[]string{"Authorization", "Bearer secret", "Authorization", "Basic dTpw"}, token},
	} {
		key, err := httplimit.Callers{}.Key(from(stranger, c.lines...))
		require.EqualError(t, err, c.want, "%q", c.lines)
		require.Empty(t, key)
	}
	for _, remote := range []string{"", "@", "203.0.113.9", "example.com:80", "203.0.113.9:port"} {
		_, err := httplimit.Callers{}.Key(from(remote))
		require.EqualError(t, err, "the client's address cannot be read", remote)
	}
}

func TestAddressesAreCountedByTheNetworkOfTheirHolder(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		bits         int
		remote, want string
	}{
		{0, "203.0.113.9:1", "ip:203.0.113.9"},
		{0, "[::ffff:203.0.113.9]:1", "ip:203.0.113.9"},
		{0, "[2001:db8:1:2:3:4:5:6]:1", "ip:2001:db8:1:2::/64"},
		{0, "[fe80::1%eth0]:1", "ip:fe80::/64"},
		{48, "[2001:db8:1:2:3:4:5:6]:1", "ip:2001:db8:1::/48"},
		{128, "[2001:db8:1:2:3:4:5:6]:1", "ip:2001:db8:1:2:3:4:5:6"},
		{128, "[fe80::1%eth0]:1", "ip:fe80::1"},
		{48, "203.0.113.9:1", "ip:203.0.113.9"},
	} {
		got, err := httplimit.Callers{IPv6Bits: c.bits}.Key(from(c.remote))
		require.NoError(t, err)
		require.Equal(t, c.want, got)
	}
}

func proxies(header string) httplimit.Callers {
	return httplimit.Callers{Header: header, TrustedProxies: []netip.Prefix{
		netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8:ffff::/48"),
	}}
}

func TestOnlyTrustedProxiesNameTheClient(t *testing.T) {
	t.Parallel()
	const proxy, xff = "10.0.0.1:1", "X-Forwarded-For"
	for _, c := range []struct {
		remote string
		lines  []string
		want   string
	}{
		{stranger, []string{xff, "198.51.100.1"}, "203.0.113.9"},
		{proxy, nil, "10.0.0.1"},
		{proxy, []string{xff, ""}, "10.0.0.1"},
		{proxy, []string{xff, "198.51.100.1"}, "198.51.100.1"},
		{"[::ffff:10.0.0.1]:1", []string{xff, "198.51.100.1"}, "198.51.100.1"},
		{"[2001:db8:ffff::1]:1", []string{xff, "198.51.100.1"}, "198.51.100.1"},
		{proxy, []string{xff, "192.0.2.66, 198.51.100.1"}, "198.51.100.1"},
		{proxy, []string{xff, "192.0.2.66, 198.51.100.1, 10.2.3.4,10.0.0.9"}, "198.51.100.1"},
		{proxy, []string{xff, "192.0.2.66", xff, "198.51.100.1", xff, "10.2.3.4"}, "198.51.100.1"},
		{proxy, []string{xff, "10.9.9.9, 10.2.3.4"}, "10.9.9.9"},
		{proxy, []string{xff, "<script>, 198.51.100.1"}, "198.51.100.1"},
		{proxy, []string{xff, ", 198.51.100.1 ,,"}, "198.51.100.1"},
		{proxy, []string{xff, "198.51.100.1:8080"}, "198.51.100.1"},
		{proxy, []string{xff, "2001:db8:1:2::9"}, "2001:db8:1:2::/64"},
		{proxy, []string{xff, "[2001:db8:1:2::9]"}, "2001:db8:1:2::/64"},
		{proxy, []string{xff, "[2001:db8:1:2::9]:443"}, "2001:db8:1:2::/64"},
		{proxy, []string{xff, "::ffff:198.51.100.1"}, "198.51.100.1"},
		{proxy, []string{xff, "198.51.100.1", "Forwarded", "for=192.0.2.66"}, "198.51.100.1"},
	} {
		got, err := proxies("").Key(from(c.remote, c.lines...))
		require.NoError(t, err, "%q", c.lines)
		require.Equal(t, "ip:"+c.want, got, "%s %q", c.remote, c.lines)
	}
	for _, v := range []string{"unknown", "198.51.100.1, ?", "300.1.1.1", "example.com", "198.51.100", "]", "["} {
		_, err := proxies("").Key(from(proxy, xff, v))
		require.EqualError(t, err, "X-Forwarded-For has something that is no address", v)
	}
	got, err := proxies("X-Real-Ip").Key(from(proxy, "X-Real-IP", "198.51.100.1", xff, "192.0.2.66"))
	require.NoError(t, err)
	require.Equal(t, "ip:198.51.100.1", got)
}

// overUnix returns the key of a request with these header lines to a server on a Unix socket.
func overUnix(t *testing.T, c httplimit.Callers, lines ...string) (key string, err error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "h")
	l, err := net.Listen("unix", path)
	require.NoError(t, err)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { key, err = c.Key(r) }))
	require.NoError(t, s.Listener.Close())
	s.Listener = l
	s.Start()
	hc := &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		},
	}}
	resp, err2 := hc.Do(sent(lines...))
	require.NoError(t, err2)
	require.NoError(t, resp.Body.Close())
	hc.CloseIdleConnections()
	s.Close()
	return key, err
}

// sent returns a client's request with these header lines.
func sent(lines ...string) *http.Request {
	r := from("", lines...)
	r.URL, r.RequestURI = &url.URL{Scheme: "http", Host: "unix"}, ""
	return r
}

func TestAPeerOnAUnixSocketIsAProxyIfItIsTrusted(t *testing.T) {
	t.Parallel()
	proxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	trusting := httplimit.Callers{TrustedProxies: proxies, TrustUnix: true}
	for want, lines := range map[string][]string{
		"ip:203.0.113.9": {"X-Forwarded-For", "198.51.100.1, 203.0.113.9, 10.1.2.3"},
		"ip:10.1.2.3":    {"X-Forwarded-For", "10.1.2.3"},
		"user:7":         {"X-User-Id", "7"},
	} {
		key, err := overUnix(t, trusting, lines...)
		require.NoError(t, err)
		require.Equal(t, want, key)
	}
	_, err := overUnix(t, trusting)
	require.EqualError(t, err, "X-Forwarded-For is missing, without which nothing says who is behind the proxy on the Unix socket")
	_, err = overUnix(t, httplimit.Callers{TrustedProxies: proxies}, "X-Forwarded-For", "203.0.113.9")
	require.EqualError(t, err, "a client on a Unix socket has no address; "+
		"with Callers.TrustUnix the server believes the proxy there")
	_, err = trusting.Key(from("@", "X-Forwarded-For", "203.0.113.9"))
	require.EqualError(t, err, "the client's address cannot be read", "that text is not from a Unix socket")
}

func TestForwardedIsReadAsItsStandardSays(t *testing.T) {
	t.Parallel()
	const proxy = "10.0.0.1:1"
	for v, want := range map[string]string{
		"":                                 "10.0.0.1",
		"for=198.51.100.1":                 "198.51.100.1",
		"FOR=198.51.100.1;proto=https":     "198.51.100.1",
		`by=10.0.0.1 ; for="198.51.100.1"`: "198.51.100.1",
		"for=192.0.2.66, for=198.51.100.1;by=10.0.0.1, for=10.0.0.7": "198.51.100.1",
		`for="[2001:db8:1:2::9]:4711"`:                               "2001:db8:1:2::/64",
		`for="[2001:db8:1:2::9]"`:                                    "2001:db8:1:2::/64",
		`for="198.51.100.1:80"`:                                      "198.51.100.1",
		"for=198.51.100.1:80":                                        "198.51.100.1",
		`for=192.0.2.66;x="a, for=192.0.2.77", for=198.51.100.1`:     "198.51.100.1",
		`for=192.0.2.66;x="\", for=192.0.2.77", for=198.51.100.1`:    "198.51.100.1",
		"for=unknown, for=198.51.100.1":                              "198.51.100.1",
		`for="198.51.100.1";`:                                        "198.51.100.1",
		", ,for=198.51.100.1,":                                       "198.51.100.1",
	} {
		got, err := proxies("Forwarded").Key(from(proxy, "Forwarded", v))
		require.NoError(t, err, v)
		require.Equal(t, "ip:"+want, got, v)
	}
	got, err := proxies("forwarded").Key(from(proxy, "Forwarded", "for=192.0.2.66", "Forwarded", "for=198.51.100.1"))
	require.NoError(t, err)
	require.Equal(t, "ip:198.51.100.1", got)

	const broken, noAddress = "Forwarded cannot be read: ", "Forwarded has something that is no address"
	for v, want := range map[string]string{
		"for=unknown":                           noAddress,
		"for=_hidden":                           noAddress,
		"proto=https":                           noAddress,
		"for=192.0.2.66, proto=https":           noAddress,
		"for":                                   broken + "a parameter is not NAME=VALUE",
		"=198.51.100.1":                         broken + "a parameter is not NAME=VALUE",
		"for=192.0.2.66;for=198.51.100.1":       broken + "an element has two parameters called for",
		`for="198.51.100.1`:                     broken + "a quoted string does not end, or something follows it",
		`for="198.51.100.1"x`:                   broken + "a quoted string does not end, or something follows it",
		`for=198.51.100.1"`:                     broken + "a quoted string does not end, or something follows it",
		`for=192.0.2.66;x=", for=198.51.100.1`:  broken + "a quoted string does not end, or something follows it",
		`for=192.0.2.66;x=", for="[2001:db8::]`: broken + "a quoted string does not end, or something follows it",
		`for=192.0.2.66;x="\`:                   broken + "a quoted string does not end, or something follows it",
	} {
		_, err := proxies("Forwarded").Key(from(proxy, "Forwarded", v))
		require.EqualError(t, err, want, v)
	}
}
