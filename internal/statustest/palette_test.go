package statustest_test

import (
	"bytes"
	"cmp"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// smaller reduces a picture to its 256 most frequent colours, which makes it a third of its size; the other colours
// occur only at the edges of letters.
func smaller(t testing.TB, picture []byte) []byte {
	t.Helper()
	full, err := png.Decode(bytes.NewReader(picture))
	require.NoError(t, err)
	often := make(map[color.RGBA]int)
	for y := range full.Bounds().Dy() {
		for x := range full.Bounds().Dx() {
			c, _ := color.RGBAModel.Convert(full.At(x, y)).(color.RGBA)
			often[c]++
		}
	}
	colours := slices.SortedFunc(maps.Keys(often), func(a, b color.RGBA) int { return cmp.Compare(often[b], often[a]) })
	var palette color.Palette
	for _, c := range colours[:min(len(colours), 256)] {
		palette = append(palette, c)
	}
	few := image.NewPaletted(full.Bounds(), palette)
	draw.Draw(few, few.Bounds(), full, image.Point{}, draw.Src)
	var b bytes.Buffer
	require.NoError(t, (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, few))
	return b.Bytes()
}
