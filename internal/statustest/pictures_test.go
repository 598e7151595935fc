package statustest_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// maxPicture bounds a picture of the documentation, in bytes.
const maxPicture = 200_000

// TestPictures takes the pictures of the documentation from a fleet that was busy for BUSY, and writes them into the
// folder PICTURES.
func TestPictures(t *testing.T) {
	dir := os.Getenv("PICTURES")
	if dir == "" {
		t.Skip("PICTURES names no folder; make pictures does")
	}
	busy, err := time.ParseDuration(os.Getenv("BUSY"))
	require.NoError(t, err, "BUSY")
	p := fleet(t, busy)
	b := open(t)
	save := func(name string) {
		png, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
		require.NoError(t, err)
		png = smaller(t, png)
		require.Less(t, len(png), maxPicture, name)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), png, 0o644))
	}
	for _, picture := range []struct {
		name, scheme  string
		width, height int64
	}{
		{"status-light.png", "light", 1120, 1180},
		{"status-dark.png", "dark", 1120, 1180},
		{"status-narrow.png", "light", 360, 1180},
	} {
		b.size(t, picture.width, picture.height)
		b.scheme(t, picture.scheme)
		b.shows(t, p.page())
		b.says(t, "limits", "per-site")
		save(picture.name)
	}
	b.do(t, chromedp.Navigate(asPage(top(t, p, "limits"))))
	b.size(t, eval[int64](t, b, `document.querySelector("pre").offsetWidth`), eval[int64](t, b, `document.querySelector("pre").offsetHeight`))
	save("top.png")
}
