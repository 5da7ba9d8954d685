package releases

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"syncd/internal/emulator/catalogue"
	"syncd/internal/emulator/testclient"
)

func writeTree(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, []byte(content), 0o600))
	}
}

func rootNames(t *testing.T, e *provider, manifest, release string) []string {
	t.Helper()
	var links, names []string
	body := testclient.Get(t, e, "/Manifest/"+release+"/"+manifest, "format=json").Text
	if err := json.Unmarshal([]byte(body), &links); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	for _, link := range links {
		u, err := url.Parse(link)
		must(t, err)
		names = append(names, strings.TrimSuffix(strings.TrimPrefix(u.Path, "/Download/Data/"), "/"))
	}
	return names
}

func TestRoot(t *testing.T) {
	root := t.TempDir()
	writeTree(t, root, map[string]string{
		"src/2026.09/main.go":    "old",
		"src/2026.10/main.go":    "main",
		"src/2026.10/.hidden":    "hidden",
		"src/2026.10/a/b/c d.go": "deep",
		"src/2026.10/a/back~":    "backup",
		"src/2026.10/a~x":        "literal",
		"src/2026.10/a/x":        "clash",
		"src/2026.10/empty":      "",
		"src/.tmp/x":             "unfinished",
		"src/v1-rc1/x":           "odd",
		"docs/2026.10/main.go":   "other manifest",
		"docs/2026.10/only.txt":  "docs",
		".git/2026.10/x":         "not a manifest",
		"loose":                  "not a manifest",
		"src/loose":              "not a release",
		"secret":                 "must not be served",
	})
	must(t, os.Symlink("main.go", filepath.Join(root, "src/2026.10/link")))
	must(t, os.Symlink("2026.09", filepath.Join(root, "src/2026.08")))
	e := startRoot(t, root)
	if got := testclient.Get(t, e, "/ManifestReleases/SRC", "format=comma").Text; got != "v1-rc1,2026.08,2026.09,2026.10" {
		t.Errorf("releases %s", got)
	}
	if got := testclient.Get(t, e, "/ManifestList/2026.10", "format=comma").Text; got != "docs,src" {
		t.Errorf("manifests %s", got)
	}
	want := []string{
		"2026.10/.hidden", "2026.10/a~back~", "2026.10/a~b~c d.go", "2026.10/a~x",
		"2026.10/empty", "2026.10/link", "2026.10/main.go",
	}
	same(t, want, rootNames(t, e, "src", "latest"))
	for name, want := range map[string]string{
		"2026.10/a~b~c%20d.go": "deep", "2026.10/a~back~": "backup", "2026.10/.hidden": "hidden", "2026.10/link": "main",
		"2026.10/A~B~C%20D.GO": "deep", "2026.10/empty": "", "2026.08/main.go": "old", "v1-rc1/x": "odd",
		"latest/only.txt": "docs", "2026.10/main.go": "other manifest", "2026.10/a~x": "literal",
	} {
		if got := testclient.Send(t, http.MethodGet, testclient.FileURL(t, e, "Data/"+name)).Text; got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	for _, name := range []string{"2026.10/..~..~secret", "2026.10/a~..~..~..~secret", "2026.10/a", "2026.10/a~b", "2026.10/a%2Fx", ".tmp/x", "..%2F..%2Fsecret", "2026.10/~", "2026.10/."} {
		if a := testclient.Get(t, e, "/Download/Data/"+name, ""); a.StatusCode != 404 {
			t.Errorf("%s: %d", name, a.StatusCode)
		}
	}
	if a := testclient.Get(t, e, "/Download/Product/2026.10/main.go", ""); a.StatusCode != 404 {
		t.Errorf("another class: %d", a.StatusCode)
	}
}

func TestRootServesProductsThatNoManifestLists(t *testing.T) {
	root := t.TempDir()
	writeTree(t, root, map[string]string{
		"Product/2026.09/Suite": "old", "Product/2026.10/Suite": "suite", "m/2026.10/a": "a",
	})
	e := startRoot(t, root)
	if got := testclient.Get(t, e, "/ManifestList/2026.10", "format=comma").Text; got != "m" {
		t.Errorf("manifests %s", got)
	}
	if a := testclient.Get(t, e, "/Manifest/2026.10/Product", ""); a.StatusCode != 404 {
		t.Errorf("a manifest of the products: %d", a.StatusCode)
	}
	if got := testclient.Get(t, e, "/Releases/Product/Suite", "format=comma").Text; got != "2026.09,2026.10" {
		t.Errorf("releases %s", got)
	}
	for name, want := range map[string]string{"Product/latest/suite": "suite", "PRODUCT/2026.09/Suite": "old"} {
		if got := testclient.Send(t, http.MethodGet, testclient.FileURL(t, e, name)).Text; got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	for _, name := range []string{"Data/2026.10/Suite", "Product/2026.10/a", "Product/2026.10/Suite?tag=NET7"} {
		path, query, _ := strings.Cut(name, "?")
		if a := testclient.Get(t, e, "/Download/"+path, query); a.StatusCode != 404 {
			t.Errorf("%s: %d", name, a.StatusCode)
		}
	}
}

func TestNewDirectoryIsNewRelease(t *testing.T) {
	root := t.TempDir()
	e := startRoot(t, root)
	e.SetManifest("memory", "2026.10", catalogue.File{Name: "a", Content: catalogue.Text("a")})
	writeTree(t, root, map[string]string{"m/2026.10/a": "one"})
	etag := testclient.Get(t, e, "/ManifestReleases/m", "").Header.Get("ETag")
	writeTree(t, root, map[string]string{"m/2026.11/a": "two", "memory/2026.11/b": "b"})
	a := testclient.Get(t, e, "/ManifestReleases/m", "", "If-None-Match", etag)
	if a.StatusCode != 200 || a.Text != "2026.10\r\n2026.11" {
		t.Errorf("%d %q", a.StatusCode, a.Text)
	}
	if got := testclient.Send(t, http.MethodGet, testclient.FileURL(t, e, "Data/latest/a")).Text; got != "two" {
		t.Errorf("latest %q", got)
	}
	if got := testclient.Get(t, e, "/ManifestReleases/memory", "format=comma").Text; got != "2026.10,2026.11" {
		t.Errorf("both shelves: %s", got)
	}
	must(t, os.RemoveAll(filepath.Join(root, "m", "2026.11")))
	if got := testclient.Get(t, e, "/ManifestReleases/m", "").Text; got != "2026.10" {
		t.Errorf("after the removal: %s", got)
	}
}

func TestRootManyFiles(t *testing.T) {
	root := t.TempDir()
	files := make(map[string]string)
	for i := range 3000 {
		files[fmt.Sprintf("m/2026.10/%02d/%04d.txt", i%50, i)] = "x"
	}
	writeTree(t, root, files)
	e := startRoot(t, root)
	if n := len(rootNames(t, e, "m", "latest")); n != 3000 {
		t.Errorf("%d files", n)
	}
}
