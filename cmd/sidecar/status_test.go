package main_test

import (
	"encoding/json"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	main "github.com/coxswain-sidecar/coxswain/cmd/sidecar"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

// pageOf is the address of the status page, as the log tells it.
func pageOf(t *testing.T, s *sidecar) string {
	t.Helper()
	var url []string
	require.Eventually(t, func() bool {
		url = regexp.MustCompile(`"serving the status page","url":"(http://127\.0\.0\.1:\d+/)"`).FindStringSubmatch(s.log.String())
		return url != nil
	}, limit, time.Millisecond)
	return url[1]
}

// fetched is what an address of the status page answers.
func fetched(t *testing.T, url string) string {
	t.Helper()
	code, body := fetch(t, url)
	require.Equal(t, http.StatusOK, code, body)
	return body
}

// The page tells what there is, whoever may use the socket, and no secret.
func TestTheStatusPageShowsTheSidecarAndNoSecret(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t, "--requirepass", "hunter2")
	s := serve(t, socketIn(t), []string{
		noGrace, "COXSWAIN_REDIS_URL=" + strings.Replace(redis.URL(), "://", "://:hunter2@", 1), "COXSWAIN_SOCKET_ADMIN_ENABLED=false",
		"COXSWAIN_HTTP_STATUS_ADDR=127.0.0.1:0", "COXSWAIN_STREAMS_CONSUMER=crawler-1",
	})
	wait(t, s.socket)
	call(t, s.socket, "lock.acquire", `{"name":"nightly","bind":"ttl","ttl_ms":3600000}`)
	call(t, s.socket, "semaphore.acquire", `{"name":"exports","limit":2,"bind":"ttl","ttl_ms":3600000}`)
	call(t, s.socket, "breaker.report", `{"name":"api.example.com","outcome":"failure"}`)
	call(t, s.socket, "queue.enqueue", `{"queue":"jobs","id":"1"}`)
	published(t, s, "x")

	page := pageOf(t, s)
	require.Contains(t, fetched(t, page), "<title>Coxswain</title>")
	var document string
	require.Eventually(t, func() bool { // it enters itself into the registry of sidecars in the background
		document = fetched(t, page+"status.json")
		return strings.Contains(document, `"crawler-1"`)
	}, limit, 10*time.Millisecond, "it is not in the registry")
	var d struct {
		State struct{ PID int64 }
		Lists map[string]struct{ Rows []map[string]any }
		Calls struct{ Rows []struct{ Name string } }
	}
	require.NoError(t, json.Unmarshal([]byte(document), &d))
	for list, name := range map[string]string{
		"locks": "nightly", "semaphores": "exports", "breakers": "api.example.com", "queues": "jobs", "streams": "s", "sidecars": "crawler-1",
	} {
		require.Len(t, d.Lists[list].Rows, 1, list)
		text, err := json.Marshal(d.Lists[list].Rows[0])
		require.NoError(t, err)
		require.Contains(t, string(text), `"`+name+`"`)
	}
	for _, c := range d.Calls.Rows {
		require.NotContains(t, []string{"inspect.snapshot", "lock.list"}, c.Name, "the page's own questions are no calls")
	}
	configuration := fetched(t, page+"config.yaml")
	require.Contains(t, configuration, "status_addr: 127.0.0.1:0 # COXSWAIN_HTTP_STATUS_ADDR")
	require.NotContains(t, document+configuration, "hunter2")
}

func TestTheStatusPageIsForThisMachineAlone(t *testing.T) {
	t.Parallel()
	for _, addr := range []string{":8087", "0.0.0.0:8087", "10.1.2.3:8087", "localhost:8087", "[::]:8087"} {
		a := cli(t, "serve", "--socket", socketIn(t), "--redis", "embedded", "--http", "", "--status", addr)
		require.Equal(t, main.Usage, a.code)
		errs := fatal(t, a.err)
		require.Len(t, errs, 1)
		require.Equal(t, `--status: http.status_addr: "`+addr+`" is no IP address of the loopback; the status page is for this machine alone: `+
			`write 127.0.0.1:8087, and reach it by kubectl port-forward or ssh -L`, errs[0])
	}
}

func TestAnOccupiedPortOfTheStatusPageHasARemedy(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	socket, want := socketIn(t), `http.status_addr "`+l.Addr().String()+`": the port is taken; stop what listens there, `+
		`or set http.status_addr (--status, COXSWAIN_HTTP_STATUS_ADDR) to a free one`
	a := cli(t, "serve", "--socket", socket, "--redis", "embedded", "--http", "", "--status", l.Addr().String())
	require.Equal(t, main.Failed, a.code)
	require.Equal(t, []string{want}, fatal(t, a.err))
	require.NoFileExists(t, socket)

	a = cliWith(t, "", []string{"COXSWAIN_HTTP_STATUS_ADDR=" + l.Addr().String(), "COXSWAIN_REDIS_URL=embedded"}, "doctor", "--pre", "--socket", socket)
	require.Contains(t, a.out+a.err, "stop what listens there, or set http.status_addr (--status, COXSWAIN_HTTP_STATUS_ADDR)")
}
