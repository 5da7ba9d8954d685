//go:build pictures

package web

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestPicturesAndAccessibility takes the pictures of docs/operating.md and checks
// every scene with axe-core. `.ci/pictures` runs it.
func TestPicturesAndAccessibility(t *testing.T) {
	axe, err := os.ReadFile(os.Getenv("AXE"))
	must(t, err)
	b := openBrowser(t)
	for name, s := range scenes() {
		site := httptest.NewServer(handlerOf(s))
		for _, look := range []struct {
			suffix        string
			width, height int
			scheme        string
		}{{"", 1100, 800, "light"}, {"-dark", 1100, 800, "dark"}, {"-phone", 390, 800, "light"}} {
			b.window(look.width, look.height, look.scheme)
			b.visit(site.URL)
			must(t, os.WriteFile(filepath.Join(os.Getenv("PICTURES"), name+look.suffix+".png"), smaller(t, b.picture()), 0o644))
			var wide bool
			must(t, b.eval("document.documentElement.scrollWidth > innerWidth", &wide))
			if wide {
				t.Errorf("%s%s is wider than its window", name, look.suffix)
			}
			var loaded bool
			must(t, b.eval(string(axe)+"; true", &loaded))
			var violations []any
			must(t, b.eval(`axe.run(document, {resultTypes: ["violations"]}).then(r => r.violations.map(v => v.id + ": " + v.help + " " + v.nodes.map(n => n.html).join(" ")))`, &violations))
			for _, v := range violations {
				t.Errorf("%s%s: %v", name, look.suffix, v)
			}
			t.Logf("%s%s: axe-core found %d violations", name, look.suffix, len(violations))
		}
		site.Close()
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
