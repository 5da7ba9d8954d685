package releases

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"syncd/internal/emulator/catalogue"
	"syncd/internal/emulator/testclient"
)

func TestTagSelectsAVariant(t *testing.T) {
	e := start(t)
	tool := func(tag, text string) catalogue.File {
		return catalogue.File{Class: catalogue.ClassLibrary, OS: "WINDOWS", Compiler: "NET", Architecture: "ANY", Name: "Tool.exe", Tag: tag, Content: catalogue.Text(text)}
	}
	e.SetManifest("m", "2026.09", tool("", "usual"), tool("NET7", "old variant"))
	e.SetManifest("m", "2026.10", tool("NET7", "variant"), tool("a&b", "odd"))
	for _, test := range []struct{ path, tag, want string }{
		{"Library/WINDOWS/NET/ANY/2026.09/Tool.exe", "", "usual"},
		{"Library/WINDOWS/NET/ANY/2026.09/Tool.exe", "NET7", "old variant"},
		{"library/windows/net/any/2026.10/Tool.exe", "net7", "variant"},
		{"Library/WINDOWS/NET/ANY/latest/Tool.exe", "NET7", "variant"},
		{"Library/WINDOWS/NET/ANY/latest/Tool.exe", "", "usual"},
		{"Library/WINDOWS/NET/ANY/2026.10/Tool.exe", "a&b", "odd"},
		{"Library/WINDOWS/NET/ANY/2026.10/Tool.exe", "", ""},
		{"Library/WINDOWS/NET/ANY/2026.09/Tool.exe", "NET8", ""},
	} {
		query := ""
		if test.tag != "" {
			query = "tag=" + url.QueryEscape(test.tag)
		}
		a := testclient.Get(t, e, "/Download/"+test.path, query)
		if test.want == "" {
			if a.StatusCode != 404 || testclient.Get(t, e, "/SHA256/"+test.path, query).StatusCode != 404 || testclient.Get(t, e, "/Metadata/"+test.path, query).StatusCode != 404 {
				t.Errorf("%s with tag %q: %d", test.path, test.tag, a.StatusCode)
			}
			continue
		}
		if got := testclient.Send(t, http.MethodGet, a.Header.Get("Location")).Text; got != test.want {
			t.Errorf("%s with tag %q: %q, want %q", test.path, test.tag, got, test.want)
		}
		var meta map[string]string
		must(t, json.Unmarshal([]byte(testclient.Get(t, e, "/Metadata/"+test.path, query).Text), &meta))
		if sum := testclient.Get(t, e, "/SHA256/"+test.path, query).Text; sum != sha256Hex(test.want) || meta["SHA256"] != sum {
			t.Errorf("%s with tag %q: digest %s, metadata %v", test.path, test.tag, sum, meta)
		}
	}
	if got := testclient.Get(t, e, "/Releases/Library/WINDOWS/NET/ANY/Tool.exe", "format=comma").Text; got != "2026.09,2026.10" {
		t.Errorf("releases %s", got)
	}
	id := url.QueryEscape(testclient.ID)
	want := e.URL() + "/Download/Library/WINDOWS/NET/ANY/2026.10/Tool.exe/?ID=" + id + "&tag=NET7\n" +
		e.URL() + "/Download/Library/WINDOWS/NET/ANY/2026.10/Tool.exe?ID=" + id + "&tag=a%26b"
	same(t, want, testclient.Get(t, e, "/Manifest/latest/m", "format=lfList").Text)
}

func TestFilesThatNoManifestListsAreServed(t *testing.T) {
	e := start(t)
	suite := func(text string) catalogue.File {
		return catalogue.File{Class: catalogue.ClassProduct, Name: "Suite", Content: catalogue.Text(text)}
	}
	e.SetFiles("2026.09", suite("old"))
	e.SetFiles("2026.10", suite("new"))
	e.SetManifest("m", "2026.10", catalogue.File{Name: "a", Content: catalogue.Text("a")})
	for path, want := range map[string]string{"Product/latest/Suite": "new", "PRODUCT/2026.09/suite": "old"} {
		if got := testclient.Send(t, http.MethodGet, testclient.FileURL(t, e, path)).Text; got != want {
			t.Errorf("%s: %q", path, got)
		}
	}
	if got := testclient.Get(t, e, "/Releases/Product/Suite", "format=comma").Text; got != "2026.09,2026.10" {
		t.Errorf("releases %s", got)
	}
	if got := testclient.Get(t, e, "/ManifestList/latest", "format=comma").Text; got != "m" {
		t.Errorf("manifests %q", got)
	}
	for _, path := range []string{"/Manifest/2026.10/", "/Manifest/2026.10", "/ManifestReleases/"} {
		if a := testclient.Get(t, e, path, ""); a.StatusCode != 404 || strings.Contains(a.Text, "Suite") {
			t.Errorf("%s: %d %s", path, a.StatusCode, a.Text)
		}
	}
	e.SetFiles("2026.10")
	if a := testclient.Get(t, e, "/Download/Product/2026.10/Suite", ""); a.StatusCode != 404 {
		t.Errorf("after it went: %d", a.StatusCode)
	}
}
