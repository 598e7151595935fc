package main

import (
	"bytes"
	"fmt"
	"html"
)

// The measures of the plot, in pixels.
const (
	plotWidth  = 720
	plotLabel  = 90 // the width for the label in front of a bar
	plotNumber = 90 // the width for the number behind the longest bar
	plotBar    = 16
	plotGap    = 6
	plotHead   = 34
)

var plotColours = []string{"#2b6cb0", "#a0aec0"}

// plot returns docs/benchmarks-growth.svg: a bar for each point of each series and each side, all
// on one scale. It writes the SVG itself, since a plotting library is a hundred times its size.
func (out *outcome) plot() []byte {
	var bars bytes.Buffer
	most := 0.0
	for _, s := range []series{growthOverKeys, growthOverConnections, growthOverMasters} {
		for _, p := range s.points {
			for side := range out.sides {
				most = max(most, out.rateOf(p.name, side))
			}
		}
	}
	y, legend := 0, ""
	if len(out.sides) > 1 {
		legend = " (grey: " + out.baseName + ")"
	}
	for _, s := range []series{growthOverKeys, growthOverConnections, growthOverMasters} {
		y += plotHead
		fmt.Fprintf(&bars, "<text x=\"0\" y=\"%d\" font-weight=\"bold\">%s</text>\n", y-plotGap-4, html.EscapeString(s.of+legend))
		for _, p := range s.points {
			for side := range out.sides {
				v := out.rateOf(p.name, side)
				width := v / max(most, 1) * (plotWidth - plotLabel - plotNumber)
				if side == 0 {
					fmt.Fprintf(&bars, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n", plotLabel-plotGap, y+plotBar-4, html.EscapeString(p.label))
				}
				fmt.Fprintf(&bars, "<rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>\n", plotLabel, y, width, plotBar, plotColours[side])
				fmt.Fprintf(&bars, "<text x=\"%.1f\" y=\"%d\">%.0f/s</text>\n", plotLabel+width+plotGap, y+plotBar-4, v)
				y += plotBar
			}
			y += plotGap
		}
	}
	var w bytes.Buffer
	fmt.Fprintf(&w, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\" font-size=\"12\">\n", plotWidth, y)
	fmt.Fprintln(&w, "<title>Calls per second of raw acquires</title>")
	fmt.Fprintln(&w, `<rect width="100%" height="100%" fill="white"/>`)
	w.Write(bars.Bytes())
	fmt.Fprintln(&w, "</svg>")
	return w.Bytes()
}

// rateOf returns the median rate of a load, 0 if it was not measured.
func (out *outcome) rateOf(load string, side int) float64 {
	var rates []float64
	for _, s := range out.sides[side].samples[load] {
		rates = append(rates, s.rate)
	}
	if len(rates) == 0 {
		return 0
	}
	return median(rates)
}
