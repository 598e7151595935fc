package statustest_test

import (
	"context"
	"os/exec"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// browser is one tab of a Chromium of its own.
type browser struct {
	ctx context.Context
}

// open starts Chromium with as few resources as possible, and ends it with the test. An exception that the page does not
// catch fails the test.
func open(t testing.TB, more ...chromedp.ExecAllocatorOption) browser {
	t.Helper()
	path, err := exec.LookPath("chromium")
	require.NoError(t, err, "install it: hack/need.sh chromium=chromium")
	o := append(chromedp.DefaultExecAllocatorOptions[:len(chromedp.DefaultExecAllocatorOptions):len(chromedp.DefaultExecAllocatorOptions)],
		chromedp.ExecPath(path),
		chromedp.NoSandbox, // Chromium has no sandbox for root
		chromedp.DisableGPU,
		chromedp.Flag("renderer-process-limit", "1"),
		chromedp.Flag("js-flags", "--max-old-space-size=256"),
		chromedp.Flag("disable-dev-shm-usage", true),
		chromedp.UserDataDir(t.TempDir()),
	)
	allocated, end := chromedp.NewExecAllocator(context.Background(), append(o, more...)...)
	t.Cleanup(end) // it waits for the end of all its processes
	return newTab(allocated, t)
}

// tab opens another tab of the same browser.
func (b browser) tab(t testing.TB) browser { t.Helper(); return newTab(b.ctx, t) }

// watch is a script that records exceptions, and violations of the content policy, in window.faults, and counts in
// window.asks how often the page asks for its data.
const watch = `window.faults = [];
window.asks = 0;
{
	const fetched = window.fetch;
	window.fetch = (of, ...more) => { if (of === "status.json") asks++; return fetched(of, ...more); };
}
addEventListener("error", e => faults.push("threw: " + e.message));
addEventListener("unhandledrejection", e => faults.push("rejected: " + e.reason));
addEventListener("securitypolicyviolation", e => faults.push("forbidden: " + e.violatedDirective + " " + e.blockedURI));`

func newTab(of context.Context, t testing.TB) browser {
	t.Helper()
	ctx, closeTab := chromedp.NewContext(of)
	t.Cleanup(closeTab)
	b := browser{ctx}
	b.do(t, command(page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: watch}))
	t.Cleanup(func() { require.Empty(t, eval[[]string](t, b, "window.faults || []")) })
	return b
}

// command runs a command of the DevTools protocol and drops its result.
func command[P, R any](c cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, c, params)
		return err
	})
}

func (b browser) do(t testing.TB, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	require.NoError(t, chromedp.Do(b.ctx, steps...))
}

// eval returns the value of an expression.
func eval[T any](t testing.TB, b browser, expression string) (value T) {
	t.Helper()
	value, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression))
	require.NoError(t, err, expression)
	return value
}

// becomes waits until an expression is true.
func (b browser) becomes(t testing.TB, expression string) {
	t.Helper()
	end := time.Now().Add(limit)
	for !eval[bool](t, b, expression) {
		if time.Now().After(end) {
			require.Fail(t, "it does not become true", "%s\n%s", expression, eval[string](t, b, "document.body.innerText"))
		}
		time.Sleep(20 * time.Millisecond) // between two evaluations
	}
}

// says waits for a text in a section.
func (b browser) says(t testing.TB, section, text string) {
	t.Helper()
	b.becomes(t, "document.getElementById("+quoted(section)+").innerText.includes("+quoted(text)+")")
}

// shows opens an address and waits until the page shows data.
func (b browser) shows(t testing.TB, address string) {
	t.Helper()
	b.do(t, chromedp.Navigate(address))
	b.becomes(t, `document.querySelector("#health li") !== null`)
}

// size sets the size of the window.
func (b browser) size(t testing.TB, width, height int64) {
	t.Helper()
	b.do(t, chromedp.EmulateViewport(width, height))
}

// scheme sets prefers-color-scheme to light or dark.
func (b browser) scheme(t testing.TB, scheme string) {
	t.Helper()
	b.do(t, command(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	}))
}
