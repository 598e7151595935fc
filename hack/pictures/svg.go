package main

import (
	"fmt"
	"strings"
)

// style is the same for all pictures. An <img> does not get the styles of its page, and follows the system's theme;
// each picture has a background colour, which also surrounds texts where they cross a line.
const style = `<style>
text{font:13px system-ui,-apple-system,"Segoe UI",Helvetica,Arial,sans-serif;fill:#1f2328;paint-order:stroke;stroke:#fff;stroke-width:4px;stroke-linejoin:round}
.page{fill:#fff}
.title{font-weight:600;font-size:14px}.small{font-size:12px}.muted{fill:#59636e}.bad{fill:#cf222e}.good{fill:#0550ae}
.axis{stroke:#8c959f;stroke-width:1;fill:none}.grid{stroke:#d1d9e0;stroke-width:1;fill:none}
.bound{stroke:#bf8700;stroke-width:1.5;stroke-dasharray:6 4;fill:none}.boundtext{fill:#7d4e00}
.line{stroke:#0969da;stroke-width:1.5;fill:none}.area{fill:#0969da;fill-opacity:.16;stroke:#0969da;stroke-width:1.5}
.no{stroke:#cf222e;stroke-width:1.5;fill:none}.yes{stroke:#0969da;stroke-width:1.5}
.dash{stroke-dasharray:4 3}.head{fill:#0969da}.nohead{fill:#cf222e}
.box{fill:#f6f8fa;stroke:#8c959f}.held{fill:#0969da;fill-opacity:.3;stroke:#0969da}.lost{fill:#cf222e;fill-opacity:.25;stroke:#cf222e}
@media(prefers-color-scheme:dark){
text{fill:#f0f6fc;stroke:#0d1117}.page{fill:#0d1117}.muted{fill:#9198a1}.bad{fill:#ff7b72}.good{fill:#79c0ff}
.axis{stroke:#656c76}.grid{stroke:#30363d}.bound{stroke:#d29922}.boundtext{fill:#e3b341}
.line{stroke:#4493f8}.area{fill:#4493f8;stroke:#4493f8}.no{stroke:#f85149}.yes{stroke:#4493f8}.head{fill:#4493f8}.nohead{fill:#f85149}
.box{fill:#151b23;stroke:#656c76}.held{fill:#4493f8;stroke:#4493f8}.lost{fill:#f85149;stroke:#f85149}
}
</style>
`

// drawing is an SVG under construction. Coordinates have one decimal, so that rounding errors of floats are not in the file.
type drawing struct {
	strings.Builder
	width, height float64
}

func (d *drawing) add(format string, args ...any) { fmt.Fprintf(&d.Builder, format+"\n", args...) }

func (d *drawing) line(class string, x1, y1, x2, y2 float64) {
	d.add(`<line class="%s" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`, class, x1, y1, x2, y2)
}

func (d *drawing) rect(class string, x, y, w, h float64) {
	d.add(`<rect class="%s" x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="3"/>`, class, x, y, w, h)
}

// text is anchored at its start, middle or end.
func (d *drawing) text(class, anchor string, x, y float64, text string) {
	d.add(`<text class="%s" text-anchor="%s" x="%.1f" y="%.1f">%s</text>`, class, anchor, x, y, escaped(text))
}

var escape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")

func escaped(text string) string { return escape.Replace(text) }

// whole returns the file; title is the text for screen readers.
func (d *drawing) whole(title string) string {
	const begin = `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f" role="img">` + "\n<title>%s</title>\n"
	const page = `<rect class="page" width="%.0f" height="%.0f"/>` + "\n"
	return fmt.Sprintf(begin, d.width, d.height, d.width, d.height, escaped(title)) + style + fmt.Sprintf(page, d.width, d.height) + d.String() + "</svg>\n"
}
