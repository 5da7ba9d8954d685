//go:build pictures

package web

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestPicturesAndAccessibility takes a picture of every scene in three widths, light and
// dark, and checks each with axe-core, as it is and with everything unfolded. `.ci/pictures`
// runs it and copies some into the documents. SCENES names the only scenes.
func TestPicturesAndAccessibility(t *testing.T) {
	axe := readAxe(t)
	only := strings.Fields(os.Getenv("SCENES"))
	for name := range scenes() {
		if len(only) > 0 && !slices.Contains(only, name) {
			continue
		}
		for _, width := range []int{1280, 768, 390} {
			for _, scheme := range []string{"light", "dark"} {
				t.Run(fmt.Sprintf("%s-%d-%s", name, width, scheme), func(t *testing.T) {
					site := httptest.NewServer(handlerOf(scenes()[name])) // of this moment
					t.Cleanup(site.Close)
					b := openBrowser(t)
					b.window(width, 800, scheme)
					b.visit(site.URL)
					save := func(suffix string) {
						must(t, os.WriteFile(filepath.Join(os.Getenv("PICTURES"), filepath.Base(t.Name())+suffix+".png"), smaller(t, b.picture()), 0o644))
					}
					save("")
					must(t, b.eval(axe, new(bool)))
					b.check("as it is")
					must(t, b.eval(unfoldAll, new(bool)))
					b.check("unfolded")
					save("-unfolded")
				})
			}
		}
	}
}

// smaller draws a picture with the 256 colours that it has most of.
func smaller(t *testing.T, data []byte) []byte {
	full, err := png.Decode(bytes.NewReader(data))
	must(t, err)
	count := map[color.Color]int{}
	for y := range full.Bounds().Dy() {
		for x := range full.Bounds().Dx() {
			count[full.At(x, y)]++
		}
	}
	colors := slices.SortedFunc(maps.Keys(count), func(a, b color.Color) int { return cmp.Compare(count[b], count[a]) })
	few := image.NewPaletted(full.Bounds(), colors[:min(len(colors), 256)])
	draw.Draw(few, few.Bounds(), full, image.Point{}, draw.Src)
	var b bytes.Buffer
	must(t, (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, few))
	return b.Bytes()
}

// picture is a PNG of the whole page.
func (b *browser) picture() []byte {
	b.Helper()
	var shot struct{ Data string }
	b.do("Page.captureScreenshot", map[string]any{"format": "png", "captureBeyondViewport": true}, &shot)
	data, err := base64.StdEncoding.DecodeString(shot.Data)
	must(b.T, err)
	return data
}
