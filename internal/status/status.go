// Package status serves the status page: a read-only page for browsers that shows what sidecar top shows, and more.
//
// Its invariants: however many browsers show the page, it reads the state of the sidecar for them at most once a second;
// while none does, it takes only the samples for the rates of the last minutes. Nothing can be changed through it. It
// answers only requests whose Host header is localhost or a loopback address, so that another site whose name resolves
// to 127.0.0.1 cannot read it. No text of users is HTML.
package status

import (
	"context"
	"crypto/sha256"
	_ "embed" // the page
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/look"
	"github.com/coxswain-sidecar/coxswain/internal/port"
)

// Port names the key, the flag and the variable that set the page's address.
var Port = port.Setting{Path: "http.status_addr", Flag: "--status", Variable: "COXSWAIN_HTTP_STATUS_ADDR", Example: "127.0.0.1:8087"}

//go:embed page.html
var page string

const (
	// fresh is how long a look is used to answer requests.
	fresh = time.Second
	// lookTime bounds one look.
	lookTime = 5 * time.Second
	// firstPages bounds the pages of each list that the first look takes.
	firstPages = 5
	// maxShown bounds the rows of each table, since a browser draws all of them.
	maxShown = 300
)

// Page serves the status page of one sidecar.
type Page struct {
	ask     look.Ask
	rates   rates
	stop    context.CancelFunc
	sampled chan struct{} // closed when sampling has ended

	turn   chan struct{} // a mutex with a cancellable wait (capacity 1); it guards the fields below
	looker *look.Looker
	taken  time.Time
	body   []byte
	config string
	failed time.Time // when the last failed look ended, with the error why
	why    error
}

// New returns the page of a sidecar, and takes samples of the sidecar until Stop.
func New(ask look.Ask) *Page {
	ctx, stop := context.WithCancel(context.Background())
	p := &Page{ask: ask, looker: look.New(ask), stop: stop, sampled: make(chan struct{}), turn: make(chan struct{}, 1)}
	go p.sample(ctx)
	return p
}

// Stop ends the samples. The page still answers, with the rates of the samples so far.
func (p *Page) Stop() {
	p.stop()
	<-p.sampled
}

// sample takes samples for rates, also while no browser shows the page, so that a new viewer sees the last minutes.
func (p *Page) sample(ctx context.Context) {
	defer close(p.sampled)
	again := time.NewTicker(step)
	defer again.Stop()
	for {
		var state api.InspectResult
		if err := p.ask(ctx, api.InspectSnapshot.Name, api.Nothing{}, &state); err == nil {
			p.rates.add(sampleOf(time.Now(), &state))
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return
		}
	}
}

// Handler answers GET and HEAD.
func (p *Page) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { write(w, "text/html; charset=utf-8", []byte(page)) })
	mux.HandleFunc("GET /status.json", p.status)
	mux.HandleFunc("GET /config.yaml", p.configuration)
	mux.HandleFunc("GET /", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "nothing here; try /, /status.json or /config.yaml", http.StatusNotFound)
	})
	return guarded(mux)
}

// guarded refuses requests for other hosts, and sends headers that restrict the page to what it needs.
func guarded(next http.Handler) http.Handler {
	policy := contentPolicy(page)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		if !local(r.Host) {
			http.Error(w, fmt.Sprintf("the status page is not for the host %q; open it as http://127.0.0.1:PORT/, in a cluster after kubectl port-forward", r.Host),
				http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// local reports whether a Host header names localhost or a loopback address. Any port is allowed, since kubectl
// port-forward may use another one.
func local(hostport string) bool {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// contentPolicy allows the page's own script and style, by their hashes, requests to its own origin, and images in data:
// URLs (the icon), and nothing else.
func contentPolicy(page string) string {
	return strings.Join([]string{
		"default-src 'none'", "script-src " + hashOf(page, "script"), "style-src " + hashOf(page, "style"), "connect-src 'self'", "img-src data:",
		"base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
	}, "; ")
}

// hashOf returns the source expression, of the content policy, for the first element of a page with that name.
func hashOf(page, element string) string {
	_, after, _ := strings.Cut(page, "<"+element+">")
	text, _, _ := strings.Cut(after, "</"+element+">")
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// look looks once. Until a look has succeeded it reads several pages of each list, so that the first viewer sees
// complete lists unless these are long; later looks read one page each.
func (p *Page) look(ctx context.Context) (look.Look, error) {
	if p.body == nil {
		return p.looker.Whole(ctx, firstPages)
	}
	return p.looker.Look(ctx)
}

func (p *Page) status(w http.ResponseWriter, r *http.Request) {
	body, _, err := p.current(r.Context())
	if err != nil {
		http.Error(w, api.Printable(look.Text(err)), http.StatusServiceUnavailable)
		return
	}
	write(w, "application/json", body)
}

// configuration serves the configuration separately, since it is long and seldom read.
func (p *Page) configuration(w http.ResponseWriter, r *http.Request) {
	_, config, err := p.current(r.Context())
	if err != nil {
		http.Error(w, api.Printable(look.Text(err)), http.StatusServiceUnavailable)
		return
	}
	write(w, "text/plain; charset=utf-8", []byte(config))
}

func write(w http.ResponseWriter, kind string, body []byte) {
	w.Header().Set("Content-Type", kind)
	_, _ = w.Write(body) // an error means that the peer is gone
}

// current returns the last look if it is fresh, else a new one. It stops waiting for its turn when the viewer's request
// ends.
func (p *Page) current(viewer context.Context) (body []byte, config string, err error) {
	came := time.Now()
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-viewer.Done():
		return nil, "", viewer.Err()
	}
	switch {
	case p.body != nil && time.Since(p.taken) < fresh:
	case p.failed.After(came): // that look ended while this request waited: it gets the same error and does not look again
		return nil, "", p.why
	default:
		if err := p.renew(); err != nil {
			p.failed, p.why = time.Now(), err
			return nil, "", err
		}
	}
	return p.body, p.config, nil
}

// renew looks. It has a time limit of its own instead of the context of a request, so that the end of one request does
// not end a look that others wait for.
func (p *Page) renew() error {
	ctx, cancel := context.WithTimeout(context.Background(), lookTime)
	defer cancel()
	var health api.HealthResult
	if err := p.ask(ctx, api.HealthGet.Name, api.Nothing{}, &health); err != nil {
		return err
	}
	is, err := p.look(ctx)
	if err != nil {
		return err
	}
	body, err := json.Marshal(p.document(is, health))
	if err != nil {
		return err
	}
	p.taken, p.body, p.config = time.Now(), body, is.State.Config
	return nil
}
