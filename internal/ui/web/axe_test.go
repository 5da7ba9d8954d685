package web

import (
	"cmp"
	"net/http/httptest"
	"os"
	"testing"
)

const unfoldAll = `document.querySelectorAll("details").forEach(d => d.open = true); true`

// readAxe returns the script of axe-core, followed by true.
func readAxe(t *testing.T) string {
	t.Helper()
	script, err := os.ReadFile(cmp.Or(os.Getenv("AXE"), "/usr/local/lib/axe-of-tests/node_modules/axe-core/axe.min.js"))
	if err != nil {
		t.Skip("NOT TESTED: accessibility of the page: install axe-core with .ci/parts, or name its script in AXE")
	}
	return string(script) + "; true"
}

// The scenes have each kind of part. `make pictures` looks at all scenes in all widths.
func TestBrowserFindsThePageAccessible(t *testing.T) {
	t.Parallel()
	axe := readAxe(t)
	b := openBrowser(t)
	for _, row := range []struct {
		scene, scheme string
		width         int
	}{{"staged", "dark", 1280}, {"views", "light", 390}, {"followers", "dark", 390}, {"retrying", "light", 768}} {
		site := httptest.NewServer(handlerOf(scenes()[row.scene]))
		t.Cleanup(site.Close)
		b.window(row.width, 800, row.scheme)
		b.visit(site.URL)
		must(t, b.eval(axe, new(bool)))
		must(t, b.eval(unfoldAll, new(bool)))
		b.check(row.scene)
	}
	site := httptest.NewServer(handlerOf(manyHosts(200)))
	t.Cleanup(site.Close)
	for _, width := range []int{1280, 390} {
		b.window(width, 800, "light")
		b.visit(site.URL + "/fleet")
		must(t, b.eval(axe, new(bool)))
		b.check("fleet")
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

// window sets the size of the tab, and whether the reader prefers it dark.
func (b *browser) window(width, height int, scheme string) {
	b.Helper()
	b.do("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false}, nil)
	b.do("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}}, nil)
}
