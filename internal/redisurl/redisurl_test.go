package redisurl_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/redisurl"
)

func TestAddressesAreRead(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]redisurl.URL{
		"embedded":             {Topology: "embedded", Addrs: []string{"in this process"}},
		"redis://h":            {Topology: "standalone", Network: "tcp", Addrs: []string{"h:6379"}},
		"rediss://u:p@h:1/2":   {Topology: "standalone", Network: "tcp", Addrs: []string{"h:1"}, Secure: true, Username: "u", Password: "p", HasPassword: true, DB: 2},
		"redis://:p%23%3f@h":   {Topology: "standalone", Network: "tcp", Addrs: []string{"h:6379"}, Password: "p#?", HasPassword: true},
		"redis://u:p@q@h":      {Topology: "standalone", Network: "tcp", Addrs: []string{"h:6379"}, Username: "u", Password: "p@q", HasPassword: true},
		"redis://[::1]":        {Topology: "standalone", Network: "tcp", Addrs: []string{"[::1]:6379"}},
		"redis://[::1%25lo]:7": {Topology: "standalone", Network: "tcp", Addrs: []string{"[::1%lo]:7"}},
		"unix:///a@b?db=3":     {Topology: "standalone", Network: "unix", Addrs: []string{"/a@b"}, DB: 3},
		"unix://u:p@/a":        {Topology: "standalone", Network: "unix", Addrs: []string{"/a"}, Username: "u", Password: "p", HasPassword: true},
		"redis+sentinel://a,[::1]:7/m/4": {
			Topology: "sentinel", Network: "tcp", Addrs: []string{"a:26379", "[::1]:7"}, Master: "m", DB: 4,
		},
		"rediss+cluster://u@a,b:7": {
			Topology: "cluster", Network: "tcp", Addrs: []string{"a:6379", "b:7"}, Secure: true, Username: "u",
		},
	} {
		got, err := redisurl.Parse(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
		require.NotContains(t, got.String(), "p@", text)
	}
}

func TestEachMistakeNamesItsRemedy(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                           "write redis://host:6379/0",
		"localhost:6379":             `starts with "localhost"`,
		"memcached://localhost":      `starts with "memcached"`,
		"redis:h":                    "lacks //",
		"redis:///1":                 "names no host",
		"redis://h:1?max_retries=3":  "options after ? or #",
		"redis://h:1/one":            "database",
		"redis://h:1/-1":             "database",
		"redis://a,b":                "redis+cluster://",
		"redis+sentinel://a,b":       "lacks the name",
		"redis+cluster://a,b/1":      "one database only",
		"unix://run/redis.sock":      "absolute path",
		"unix:///run/redis.sock?x=1": "other options than db",
		"rediss+cluster://a:0":       "port 0",
		"redis://a:6379x":            "a port that is no number",
		"redis://::1:6379":           "brackets",
		"redis://[::1%lo]:6379":      "%25eth0",
		"redis://h:6379\n":           "a line break",
		"redis://h :6379":            "a space",
		// What is special in a password, in all its places.
		"redis://u:p/w@h":              "/ as %2F",
		"redis://u:p#w@h":              "# as %23",
		"redis://u:p?w@h":              "? as %3F",
		"redis://:p#w@h:6379/1":        "# as %23",
		"redis://u:p w@h":              "a space as %20",
		"redis://u:p%w@h":              "% as %25",
		"redis://u:a@p#w@h":            "# as %23",
		"redis+sentinel://u:p#w@a,b/m": "# as %23",
		"rediss+cluster://u:p?w@a,b":   "? as %3F",
		"unix://u:p#w@/run/redis.sock": "# as %23",
	} {
		_, err := redisurl.Parse(text)
		require.ErrorContains(t, err, want, text)
	}
}

func TestErrorsNeverShowAPassword(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"redis://user:hun/ter2@host:1", "redis://user:hun#ter2@host:1", "redis://user:hun?ter2@host:1",
		"redis://user:hun ter2@host:1/x", "redis://user:hun%ter2@host:1", "hunter2@host:1", "redis://:hunter2@host:1/x",
		"hun://ter2@host", "redis+cluster://user:hun%ter2@a,b", "redis+sentinel://user:hun/ter2@a,b/m", "unix://user:hun?ter2@/x",
		"redis://user:hun[ter2@host:1", "redis://user:hun\nter2@host:1", "redis://user:hunter2#@[::1%lo]",
	} {
		_, err := redisurl.Parse(url)
		require.Error(t, err, url)
		if url != "hun://ter2@host" { // what stands before :// is its scheme
			require.NotContains(t, err.Error(), "hun", url)
		}
		require.NotContains(t, err.Error(), "ter2", url)
	}
}
