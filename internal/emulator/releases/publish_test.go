package releases

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"syncd/internal/emulator/catalogue"
	"syncd/internal/emulator/testclient"
)

func TestRepublish(t *testing.T) {
	e := start(t)
	publish := func(a, b string) {
		e.SetManifest("m", "2026.10", catalogue.File{Name: "a", Content: catalogue.Text(a)}, catalogue.File{Name: "b", Content: catalogue.Text(b)})
	}
	publish("one", "same")
	a, b := testclient.FileURL(t, e, "Data/2026.10/a"), testclient.FileURL(t, e, "Data/2026.10/b")
	a1, b1 := testclient.Send(t, http.MethodGet, a), testclient.Send(t, http.MethodGet, b)
	hash1 := testclient.Get(t, e, "/SHA256/Data/2026.10/a", "").Text
	publish("two", "same")
	a2, b2 := testclient.Send(t, http.MethodGet, a), testclient.Send(t, http.MethodGet, b)
	if a1.Text != "one" || a2.Text != "two" || testclient.Get(t, e, "/SHA256/Data/2026.10/a", "").Text == hash1 {
		t.Errorf("%q, then %q", a1.Text, a2.Text)
	}
	for _, h := range []string{"ETag", "Last-Modified"} {
		if a1.Header.Get(h) == a2.Header.Get(h) {
			t.Errorf("%s stayed %s", h, a1.Header.Get(h))
		}
		if b1.Header.Get(h) != b2.Header.Get(h) {
			t.Errorf("%s of the same content changed", h)
		}
	}
}

func TestReferencesAcrossReleases(t *testing.T) {
	e := start(t)
	old := catalogue.File{Name: "a", Release: "2026.08", Content: catalogue.Text("kept")}
	e.SetManifest("m", "2026.08", old)
	e.SetManifest("m", "2026.09", catalogue.File{Name: "a", Release: "2026.08"}, catalogue.File{Name: "missing"})
	if n := strings.Count(testclient.Get(t, e, "/Manifest/2026.09/m", "").Text, "/Download/"); n != 2 {
		t.Errorf("%d links", n)
	}
	if a := testclient.Get(t, e, "/Download/Data/2026.09/missing", ""); a.StatusCode != 404 {
		t.Errorf("listed file without a content: status %d, want 404", a.StatusCode)
	}
	e.SetManifest("m", "2026.10", old)
	e.RemoveRelease("M", "2026.08")
	if body := testclient.Send(t, http.MethodGet, testclient.FileURL(t, e, "Data/2026.08/a")).Text; body != "kept" {
		t.Errorf("after the release went: %q", body)
	}
	e.RemoveRelease("m", "2026.10")
	if a := testclient.Get(t, e, "/Download/Data/2026.08/a", ""); a.StatusCode != 404 {
		t.Errorf("file without a release: status %d, want 404", a.StatusCode)
	}
	e.RemoveRelease("m", "2026.09")
	e.RemoveRelease("m", "2026.09")
	if a := testclient.Get(t, e, "/ManifestReleases/m", ""); a.StatusCode != 404 {
		t.Errorf("without a release: %d", a.StatusCode)
	}
	e.SetManifest("n", "1", catalogue.File{Name: "a", Release: "x", Content: catalogue.Text("first")})
	e.SetManifest("n", "2", catalogue.File{Name: "a", Release: "x", Content: catalogue.Text("last")})
	if body := testclient.Send(t, http.MethodGet, testclient.FileURL(t, e, "Data/x/a")).Text; body != "last" {
		t.Errorf("two contents: %q", body)
	}
}

func TestNamesThatDifferInCase(t *testing.T) {
	e := start(t)
	e.SetManifest("m", "2026.10", catalogue.File{Name: "a", Content: catalogue.Text("lower")}, catalogue.File{Name: "A", Content: catalogue.Text("upper")})
	for name, want := range map[string]string{"a": "lower", "A": "upper"} {
		if got := testclient.Send(t, http.MethodGet, testclient.FileURL(t, e, "Data/2026.10/"+name)).Text; got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestSetLinks(t *testing.T) {
	e := startClasses(t)
	links := []string{"https://elsewhere.example/Download/Data/2026.10/../x", "", "nonsense\x01"}
	e.SetLinks("all", "2026.10", links...)
	var got []string
	must(t, json.Unmarshal([]byte(testclient.Get(t, e, "/Manifest/latest/all", "format=json").Text), &got))
	same(t, links, got)
	testclient.FileURL(t, e, "Data/2026.10/mdAddr.dat") // still there
	e.SetLinks("all", "2026.10")
	if body := testclient.Get(t, e, "/Manifest/latest/all", "format=json").Text; body != "[]" {
		t.Errorf("no links: %s", body)
	}
	e.SetManifest("all", "2026.10", classFiles()...)
	if body := testclient.Get(t, e, "/Manifest/latest/all", "").Text; strings.Contains(body, "elsewhere") {
		t.Errorf("after SetManifest: %s", body)
	}
}
