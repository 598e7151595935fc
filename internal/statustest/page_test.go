package statustest_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// quoted returns a text as a JavaScript literal.
func quoted(s string) string { b, _ := json.Marshal(s); return string(b) }

const oneRule = "rules:\n  items:\n    - {name: per-site, algorithm: token_bucket, limits: [{limit: 2, period_ms: 3600000}]}\n"

// alone is one sidecar on a Redis of its own, and a browser that shows its page.
func alone(t *testing.T) (*pod, browser) {
	t.Helper()
	url, _ := redis(t)
	p := newPod(t, url, "crawler-1", oneRule)
	b := open(t)
	b.size(t, 1240, 900)
	b.shows(t, p.page())
	return p, b
}

func TestValuesAppearAndChange(t *testing.T) {
	p, b := alone(t)
	b.says(t, "state", "ready")
	b.says(t, "about", "crawler-1")
	b.says(t, "locks", "No lock is held.")
	b.says(t, "limits", "2/1h")
	b.says(t, "sidecars", "crawler-1 (this one)")
	require.Empty(t, eval[[]string](t, b, `[...document.querySelectorAll("section:not(#configuration) tbody tr")].filter(r => r.innerText.trim() === "").map(r => r.closest("section").id)`))

	c := p.client(t, "spider", "worker-1")
	for range 5 {
		call(t, c, "ratelimit.acquire", map[string]any{"rule": "per-site", "key": "shop.example"})
	}
	lock := call(t, c, "lock.acquire", map[string]any{"name": "nightly", "ttl_ms": 3_600_000})
	call(t, c, "semaphore.acquire", map[string]any{"name": "exports", "limit": 3, "ttl_ms": 3_600_000})
	call(t, c, "pool.put", map[string]any{"pool": "agents", "members": []map[string]any{{"id": "x"}, {"id": "y"}}})
	for range 3 {
		call(t, c, "breaker.report", map[string]any{"name": "api.example", "outcome": "failure"})
	}
	call(t, c, "queue.enqueue", map[string]any{"queue": "jobs", "id": "1"})
	call(t, c, "stream.publish", map[string]any{"stream": "pages", "body": "x"})
	for section, text := range map[string]string{
		"refused": "shop.example", "locks": "spider worker-1", "semaphores": "exports", "pools": "agents", "breakers": "open", "queues": "jobs", "streams": "pages",
		"calls": "ratelimit.acquire", "connections": "lock nightly", "redis": "127.0.0.1", "health": "rules in force",
	} {
		b.says(t, section, text)
	}
	cells := `[...document.querySelectorAll("#limits tbody tr")].map(r => [...r.cells].map(c => c.textContent))[0].slice(4, 6).join(" ")`
	b.becomes(t, cells+` === "3 2"`)
	b.becomes(t, `document.querySelectorAll("#limits .spark path").length > 0`)
	b.becomes(t, `document.querySelectorAll("#redis .chart path").length > 0`)

	call(t, c, "lock.release", map[string]any{"name": "nightly", "token": lock["token"]})
	b.says(t, "locks", "No lock is held.")
	call(t, c, "ratelimit.acquire", map[string]any{"rule": "per-site", "key": "other.example"})
	b.becomes(t, cells+` === "3 3"`)
}

func TestTheConfigurationIsShownWithoutSecrets(t *testing.T) {
	_, b := alone(t)
	b.do(t, chromedp.Click("#configuration summary"))
	b.says(t, "configuration", "status_addr: 127.0.0.1")
	b.says(t, "configuration", "name: per-site")
}

// hostile are names that, unless they are escaped, break out of markup, of a line, or of the page.
var hostile = []string{
	`<img src=x onerror="document.title='hacked'">`, `"><script>document.title='hacked'</script>`, "javascript:document.title='hacked'",
	"a\x1b[2J\x07\nb\x00c", "evil\u202egnp.exe", "\u2067\u05e9\u05dc\u05d5\u05dd\u2069", "zalgo" + strings.Repeat("\u0301", 40), strings.Repeat("long-", 100),
	"__proto__", "constructor", "{{7*7}}${7*7}",
}

func TestHostileNamesAreTextAndKeepTheLayout(t *testing.T) {
	p, b := alone(t)
	c := p.client(t, `<b onclick="document.title='hacked'">spider</b>`, "\u202edekcah")
	for _, name := range hostile {
		call(t, c, "lock.acquire", map[string]any{"name": name, "bind": "ttl", "ttl_ms": 3_600_000})
		call(t, c, "breaker.report", map[string]any{"name": name, "outcome": "failure"})
		call(t, c, "queue.enqueue", map[string]any{"queue": name, "id": name})
		call(t, c, "stream.publish", map[string]any{"stream": name, "body": "x"})
		call(t, c, "pool.put", map[string]any{"pool": name, "members": []map[string]any{{"id": name}}})
		for range 2 {
			call(t, c, "ratelimit.acquire", map[string]any{"key": name, "algorithm": "token_bucket", "limits": []map[string]any{{"limit": 1, "period_ms": 3_600_000}}})
		}
	}
	b.becomes(t, `document.querySelectorAll("#locks tbody tr").length === `+quotedNumber(len(hostile)))
	b.becomes(t, `document.querySelectorAll("#refused tbody tr").length === `+quotedNumber(len(hostile)))
	for section, text := range map[string]string{
		"locks": `<img src=x onerror="document.title='hacked'">`, "breakers": `a\x1b[2J\a\nb\x00c`, "queues": `evil\u202egnp.exe`, "refused": "long-long-", "connections": "<b onclick=",
		"pools": "__proto__", "streams": "{{7*7}}${7*7}",
	} {
		b.says(t, section, text)
	}
	require.Zero(t, eval[int](t, b, `document.querySelectorAll("main img, main b[onclick], main script, main a").length`))
	require.NotContains(t, eval[string](t, b, "document.title"), "hacked")
	require.False(t, eval[bool](t, b, `/[\u0000-\u0009\u000b-\u001f\u202a-\u202e\u2066-\u2069]/.test(document.querySelector("main").textContent)`))
	// The sidecar refuses names of 10 kB, so such a name is put into the page's data here.
	eval[any](t, b, `document.getElementById("pause").click(), 0`)
	b.becomes(t, "!asking")
	eval[any](t, b, `shown.lists.locks.rows[0].name = "w".repeat(10000), shown.health.checks[0].detail = "w".repeat(10000), render(shown), 0`)
	for _, width := range []int64{1240, 700, 360} {
		b.size(t, width, 900)
		b.becomes(t, `document.querySelectorAll("#locks tbody tr").length > 0`)
		require.Empty(t, wide(t, b), "at %d pixels", width)
	}
}

func quotedNumber(n int) string { b, _ := json.Marshal(n); return string(b) }

// wide returns the elements that extend beyond the right edge of the window.
func wide(t *testing.T, b browser) []string {
	t.Helper()
	return eval[[]string](t, b, `document.documentElement.scrollWidth <= innerWidth ? [] : ["the page scrolls", ...[...document.querySelectorAll("body *")]
		.filter(e => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest("nav ul, .skip, caption, thead")).map(e => e.tagName + "." + e.className + " " + e.textContent.slice(0, 40))]`)
}

// On a phone all sections are below each other, none is cut off, and each value has its heading.
func TestThePageFitsAPhone(t *testing.T) {
	p, b := alone(t)
	c := p.client(t, "spider", "worker-1")
	call(t, c, "lock.acquire", map[string]any{"name": "nightly", "ttl_ms": 3_600_000})
	b.size(t, 360, 740)
	b.says(t, "locks", "nightly")
	require.Empty(t, wide(t, b))
	require.Equal(t, `"Held by "`, eval[string](t, b, `getComputedStyle(document.querySelector("#locks td:last-child"), "::before").content`))
	require.True(t, eval[bool](t, b, `[...document.querySelectorAll("main > section")].every(s => s.getBoundingClientRect().width > 320)`))
}

// contrasts returns the texts whose contrast to their background is less than WCAG AA demands.
const contrasts = `(() => {
	const channel = c => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
	const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
	const rgb = s => s.match(/[\d.]+/g).map(Number);
	const behind = e => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor); if (c.length < 4 || c[3] > 0) return c; } return [255, 255, 255]; };
	const bad = [];
	for (const e of document.querySelectorAll("body *")) {
		if (![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()) || e.closest("script, style, noscript")) continue;
		const [a, b] = [light(rgb(getComputedStyle(e).color)), light(behind(e))].sort((x, y) => y - x), ratio = (a + 0.05) / (b + 0.05);
		if (ratio < 4.5) bad.push(ratio.toFixed(2) + " " + e.tagName + "." + e.className + " " + e.textContent.slice(0, 30));
	}
	return bad;
})()`

func TestLightAndDarkCanBeRead(t *testing.T) {
	p, b := alone(t)
	c := p.client(t, "spider", "worker-1")
	for range 3 {
		call(t, c, "breaker.report", map[string]any{"name": "api.example", "outcome": "failure"})
		call(t, c, "ratelimit.acquire", map[string]any{"rule": "per-site", "key": "shop.example"})
	}
	b.says(t, "breakers", "open")
	b.says(t, "refused", "shop.example")
	back := map[string]string{}
	for _, scheme := range []string{"light", "dark"} {
		b.scheme(t, scheme)
		require.Empty(t, eval[[]string](t, b, contrasts), scheme)
		back[scheme] = eval[string](t, b, `getComputedStyle(document.body).backgroundColor`)
	}
	require.Equal(t, map[string]string{"light": "rgb(244, 246, 248)", "dark": "rgb(14, 18, 23)"}, back)
}

func TestThePageWorksByKeyboardAndScreenReader(t *testing.T) {
	p, b := alone(t)
	call(t, p.client(t, "spider", "worker-1"), "lock.acquire", map[string]any{"name": "nightly", "ttl_ms": 3_600_000})
	b.says(t, "locks", "nightly")
	b.do(t, chromedp.KeyEvent(kb.Tab))
	require.Equal(t, "Skip to the content", eval[string](t, b, "document.activeElement.textContent"))
	b.do(t, chromedp.KeyEvent(kb.Tab))
	require.Equal(t, "filter", eval[string](t, b, "document.activeElement.id"))
	b.do(t, chromedp.KeyEvent("NIGHTLY"))
	b.says(t, "sidecars", "Nothing here has the text of the filter.")
	b.says(t, "locks", "1 of 1")
	b.do(t, chromedp.KeyEvent(kb.Tab))
	b.do(t, chromedp.KeyEvent(" "))
	require.Equal(t, "true", eval[string](t, b, `document.activeElement.getAttribute("aria-pressed")`))
	for what, expression := range map[string]string{
		"a table without a caption":   `[...document.querySelectorAll("table")].filter(t => !t.caption || !t.caption.textContent).length`,
		"a section without a heading": `[...document.querySelectorAll("section")].filter(s => !s.querySelector("h2")).length`,
		"a heading without a scope":   `document.querySelectorAll("th:not([scope])").length`,
		"a picture without a text":    `document.querySelectorAll("svg:not([aria-label])").length`,
		"a field without a name":      `document.querySelectorAll("input:not([aria-label])").length`,
		"an id that is there twice":   `[...document.querySelectorAll("[id]")].filter(e => document.querySelectorAll("#" + e.id).length > 1).length`,
	} {
		require.Zero(t, eval[int](t, b, expression), what)
	}
	require.Equal(t, "en", eval[string](t, b, "document.documentElement.lang"))
}

// A site whose name resolves to 127.0.0.1 cannot read the page.
func TestAnotherHostIsRefused(t *testing.T) {
	url, _ := redis(t)
	p := newPod(t, url, "crawler-1", oneRule)
	for _, host := range []string{"evil.example", "evil.example:" + p.port, "127.0.0.1.evil.example", "10.1.2.3", ""} {
		for _, path := range []string{"", "status.json", "config.yaml", "nothing"} {
			status, body := get(t, p.page()+path, host)
			if host == "" { // the client sends the address as Host, which is allowed
				require.NotEqual(t, http.StatusMisdirectedRequest, status)
				continue
			}
			require.Equal(t, http.StatusMisdirectedRequest, status, "%s %s", host, path)
			require.NotContains(t, body, "crawler-1")
		}
	}
	b := open(t, chromedp.Flag("host-resolver-rules", "MAP evil.example 127.0.0.1"))
	b.do(t, chromedp.Navigate("http://evil.example:"+p.port+"/"))
	require.Contains(t, eval[string](t, b, "document.body.innerText"), `the status page is not for the host "evil.example`)
	b.shows(t, strings.Replace(p.page(), "127.0.0.1", "localhost", 1))
}

func TestThePageShowsSinceWhenTheSidecarIsUnreachableAndRecovers(t *testing.T) {
	p, b := alone(t)
	call(t, p.client(t, "spider", "worker-1"), "lock.acquire", map[string]any{"name": "nightly", "bind": "ttl", "ttl_ms": 3_600_000})
	b.says(t, "locks", "nightly")
	end(p.process)
	b.says(t, "state", "no answer")
	b.becomes(t, `/The sidecar does not answer since \d\d:\d\d:\d\d \(.+\): .+ Below is what it was at \d\d:\d\d:\d\d\./.test(document.getElementById("notice").innerText)`)
	b.says(t, "locks", "nightly")
	require.Contains(t, eval[string](t, b, "document.title"), "no answer")
	p.restart()
	b.says(t, "state", "ready")
	b.says(t, "notice", "Another sidecar process answers since")
	b.says(t, "locks", "nightly")
}

func TestNobodyIsAskedWhileThePageIsHiddenOrPaused(t *testing.T) {
	p, b := alone(t)
	other := b.tab(t)
	other.shows(t, p.page())
	const asked = "asks"
	still := func(stop, goOn string) {
		t.Helper()
		eval[any](t, b, stop)
		b.becomes(t, "!asking")
		before, seen := eval[int](t, b, asked), eval[int](t, other, asked)
		other.becomes(t, asked+" >= "+quotedNumber(seen+3)) // the requests of the other tab show that time has passed
		require.Equal(t, before, eval[int](t, b, asked))
		eval[any](t, b, goOn)
		b.becomes(t, asked+" > "+quotedNumber(before))
	}
	still(`Object.defineProperty(document, "hidden", { configurable: true, get: () => true }), document.dispatchEvent(new Event("visibilitychange")), 0`,
		`delete document.hidden, document.dispatchEvent(new Event("visibilitychange")), 0`)
	still(`document.getElementById("pause").click(), 0`, `document.getElementById("pause").click(), 0`)
}
