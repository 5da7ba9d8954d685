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
	axe, err := os.ReadFile(os.Getenv("AXE"))
	must(t, err)
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
					must(t, b.eval(string(axe)+"; true", new(bool)))
					b.check("as it is")
					must(t, b.eval(`document.querySelectorAll("details").forEach(d => d.open = true); true`, new(bool)))
					b.check("unfolded")
					save("-unfolded")
				})
			}
		}
	}
}

// check looks for what axe-core finds, and for a page that is wider than its window.
func (b *browser) check(look string) {
	b.Helper()
	var violations []string
	must(b.T, b.eval(`axe.run(document, {resultTypes: ["violations"]}).then(r => r.violations.map(v => v.id + ": " + v.help + " " + v.nodes.map(n => n.html).join(" ")))`, &violations))
	for _, v := range violations {
		b.Errorf("%s: %s", look, v)
	}
	var wide bool
	must(b.T, b.eval("document.documentElement.scrollWidth > innerWidth", &wide))
	if wide {
		b.Errorf("%s is wider than its window", look)
	}
	b.Logf("%s: axe-core found %d violations", look, len(violations))
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

// window sets the size of the tab, and whether the reader prefers it dark.
func (b *browser) window(width, height int, scheme string) {
	b.Helper()
	b.do("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false}, nil)
	b.do("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}}, nil)
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
