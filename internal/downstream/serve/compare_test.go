package serve

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"syncd/internal/config"
	"syncd/internal/emulator"
	"syncd/internal/manifest"
)

// paths are those of all twenty endpoints, with spellings that the provider accepts, and
// with mistakes.
var paths = []string{
	"/Browse", "/Browse?mft=all_classes", "/Browse?mft=other&release=2026.08", "/browse?MFT=All_Classes&sort=dsize", "/Browse?mft=All_Classes&release=2026.10&sort=fileName", "/Browse?mft=none",
	"/ManifestReleases/All_Classes", "/manifestreleases/all_classes/", "/ManifestReleases/other", "/ManifestReleases/none", "/ManifestReleases/", "/ManifestReleases/a/b",
	"/Manifest/2026.10/All_Classes", "/Manifest/2026-10/all_classes/", "/MANIFEST/latest/All_Classes", "/Manifest/LATEST/All_Classes", "/Manifest/2026.Q4/All_Classes", "/Manifest/2026.B5/All_Classes", "/Manifest/2026.09/All_Classes",
	"/Manifest/2026.07/All_Classes", "/Manifest/nonsense/All_Classes", "/Manifest/2026.10/none", "/Manifest/2026.10", "/Manifest",
	"/ManifestList/2026.10", "/ManifestList/latest", "/manifestlist/2026.08/", "/ManifestList/2020.01", "/ManifestList/x", "/ManifestList",
	"/Releases/Data/mdAddr.dat", "/releases/data/MDADDR.DAT/", "/Releases/Library/LINUX/GCC48/64BIT/lib.so", "/Releases/Interface/ANY/JAVA/ANY/a.jar", "/Releases/Product/all.zip", "/Releases/Data/none", "/Releases/Other/x", "/Releases",
	"/Nothing", "/", "/CRC32/Data/2026.10/mdAddr.dat", "/Manifest/%2e%2e/all",
}

// files are references, each to be asked of Metadata, the three hashes and Download.
var files = []string{
	"Data/2026.10/mdAddr.dat", "data/2026-10/MDADDR.DAT/", "DATA/latest/mdAddr.dat", "Data/2026.09/mdAddr.dat", "Data/2026.Q4/mdAddr.dat",
	"Data/2026.08/old%20one%2C%23%25%C3%A9%2B.txt", "Data/2026.08/old%20one,%23%25%C3%A9+.txt",
	"Library/LINUX/GCC48/64BIT/2026.10/lib.so", "library/linux/gcc48/32bit/latest/lib.so",
	"Library/WINDOWS/NET/ANY/2026.10/tool.exe?tag=NET+7", "Library/WINDOWS/NET/ANY/latest/tool.exe?TAG=net%207", "Library/WINDOWS/NET/ANY/2026.10/tool.exe",
	"Interface/ANY/JAVA/ANY/2026.10/a.jar", "Product/2026.10/all.zip", "PRODUCT/latest/all.zip/", "Data/2026.10/empty",
	"Data/2026.07/mdAddr.dat", "Data/2026.10/none", "Data/2026.10", "Library/LINUX/2026.10/lib.so", "Other/2026.10/x", "Product/2026.10/mdAddr.dat", "",
}

var formatValues = []string{"", "crLfList", "LFLIST", "comma", "tab", "json", "xml", "yaml"}

// withFormat adds a format to an address.
func withFormat(address, format string) string {
	switch {
	case format == "":
		return address
	case strings.Contains(address, "?"):
		return address + "&format=" + format
	}
	return address + "?format=" + format
}

func TestEachAnswerIsTheProvidersButForTheHost(t *testing.T) {
	e := startProvider(t)
	u := startUpstream(t, mirrored(t, e), nil)
	var all []string
	for _, p := range paths {
		for _, f := range formatValues {
			all = append(all, withFormat(p, f))
		}
	}
	for _, p := range files {
		for _, verb := range []string{"Metadata", "metadata", "MD5", "SHA1", "SHA256", "sha256"} {
			for _, f := range formatValues {
				all = append(all, withFormat("/"+verb+"/"+p, f))
			}
		}
	}
	for _, path := range all {
		want, got := ask(t, "GET", withID(e.URL()+path, customerID)), ask(t, "GET", withID(u.url()+path, followerID))
		if got.seen() != localised(want, e.URL(), u.url()).seen() {
			t.Errorf("%s:\n got %s\nwant %s", path, got.seen(), localised(want, e.URL(), u.url()).seen())
		}
		if strings.Contains(got.text, url.QueryEscape(customerID)) || strings.Contains(got.text, customerID) {
			t.Errorf("%s holds the provider's Customer ID: %s", path, got.text)
		}
		head := ask(t, "HEAD", withID(u.url()+path, followerID))
		isPage := strings.HasPrefix(path, "/Browse") || strings.HasPrefix(path, "/browse")
		if head.StatusCode != got.StatusCode || head.text != "" || head.ContentLength != got.ContentLength && !isPage {
			t.Errorf("HEAD %s: %d %v", path, head.StatusCode, head.Header)
		}
	}
}

// seen is what a client sees of an answer.
func (r reply) seen() string {
	hasETag := r.Header.Get("ETag") != ""
	return fmt.Sprintf("%d %s ETag %t %q", r.StatusCode, r.Header.Get("Content-Type"), hasETag, unescaped(r))
}

// localised is an answer of the provider as it would be to the follower, by its upstream.
func localised(r reply, provider, upstream string) reply {
	r.text = strings.NewReplacer(provider, upstream, url.QueryEscape(customerID), url.QueryEscape(followerID), customerID, followerID).Replace(unescaped(r))
	return r
}

// unescaped is the text of an answer, in which ids look the same in a page as elsewhere.
func unescaped(r reply) string {
	if strings.HasPrefix(r.Header.Get("Content-Type"), "text/html") {
		return html.UnescapeString(r.text)
	}
	return r.text
}

func TestDownloadsAreTheProvidersWithoutARedirect(t *testing.T) {
	e := startProvider(t)
	u := startUpstream(t, mirrored(t, e), nil)
	for _, path := range files {
		for _, headers := range [][]string{nil, {"Range", "bytes=1-2"}, {"Range", "bytes=-1"}, {"Range", "bytes=2-"}, {"Range", "bytes=9999999-"}, {"Range", "bytes=2-1"}, {"If-None-Match", "*"}, {"If-Match", `"x"`}} {
			want := ask(t, "GET", withID(e.URL()+"/Download/"+path, customerID), headers...)
			if location := want.Header.Get("Location"); location != "" {
				want = ask(t, "GET", location, headers...)
			}
			got := ask(t, "GET", withID(u.url()+"/Download/"+path, followerID), headers...)
			if got.StatusCode != want.StatusCode || got.text != want.text || got.Header.Get("Content-Range") != want.Header.Get("Content-Range") {
				t.Errorf("%s with %s: %d %.80q %q, want %d %.80q", path, headers, got.StatusCode, got.text, got.Header.Get("Content-Range"), want.StatusCode, want.text)
			}
		}
	}
}

func TestValidatorsOfADownload(t *testing.T) {
	e := startProvider(t)
	u := startUpstream(t, mirrored(t, e), nil)
	address := withID(u.url()+"/Download/Data/2026.10/mdAddr.dat", followerID)
	etag := fmt.Sprintf(`"%x"`, sha256.Sum256([]byte("data")))
	modified := ask(t, "GET", address).Header.Get("Last-Modified")
	at, err := http.ParseTime(modified)
	must(t, err)
	later, earlier := at.Add(time.Hour).Format(http.TimeFormat), at.Add(-time.Hour).Format(http.TimeFormat)
	for _, row := range []struct {
		headers []string
		status  int
		body    string
	}{
		{nil, 200, "data"},
		{[]string{"If-Modified-Since", modified}, 304, ""},
		{[]string{"If-Modified-Since", earlier}, 200, "data"},
		{[]string{"If-Modified-Since", later}, 200, "data"}, // its bytes may be those before
		{[]string{"If-Modified-Since", modified, "If-None-Match", `"other"`}, 200, "data"},
		{[]string{"If-Modified-Since", earlier, "If-None-Match", etag}, 304, ""},
		{[]string{"If-Unmodified-Since", modified}, 200, "data"},
		{[]string{"If-Unmodified-Since", earlier}, 412, ""},
		{[]string{"If-Unmodified-Since", earlier, "If-Match", etag}, 200, "data"},
		{[]string{"Range", "bytes=1-", "If-Range", modified}, 206, "ata"},
		{[]string{"Range", "bytes=1-", "If-Range", earlier}, 200, "data"},
		{[]string{"If-None-Match", etag}, 304, ""},
		{[]string{"If-None-Match", `"other"`}, 200, "data"},
		{[]string{"Range", "bytes=1-", "If-Range", etag}, 206, "ata"},
		{[]string{"Range", "bytes=1-", "If-Range", `"other"`}, 200, "data"},
		{[]string{"Range", "bytes=1-", "If-Range", "W/" + etag}, 200, "data"},
		{[]string{"If-Match", `"other"`}, 412, ""},
	} {
		got := ask(t, "GET", address, row.headers...)
		if got.StatusCode != row.status || got.text != row.body || row.status < 300 && (got.Header.Get("ETag") != etag || got.Header.Get("Last-Modified") != modified) {
			t.Errorf("%s: %d %q %s", row.headers, got.StatusCode, got.text, got.Header.Get("ETag"))
		}
	}
	if got := ask(t, "GET", strings.Replace(address, "2026.10", "latest", 1), "If-Modified-Since", modified); got.StatusCode != 200 || got.Header.Get("Last-Modified") != "" {
		t.Errorf("the newest release: %d %v", got.StatusCode, got.Header)
	}
	head := ask(t, "HEAD", address)
	if head.StatusCode != 200 || head.ContentLength != 4 || head.Header.Get("Accept-Ranges") != "bytes" || head.Header.Get("Location") != "" {
		t.Errorf("HEAD: %d %v", head.StatusCode, head.Header)
	}
}

func TestListsHaveValidators(t *testing.T) {
	e := startProvider(t)
	u := startUpstream(t, mirrored(t, e), nil)
	for _, path := range []string{"/ManifestReleases/other", "/Releases/Data/mdAddr.dat", "/Manifest/latest/All_Classes"} {
		address := withID(u.url()+path+"?format=json", followerID)
		etag := ask(t, "GET", address).Header.Get("ETag")
		for _, sent := range []string{etag, "W/" + etag, `"x", ` + etag, "*"} {
			if got := ask(t, "GET", address, "If-None-Match", sent); got.StatusCode != http.StatusNotModified || got.text != "" || got.Header.Get("ETag") != etag {
				t.Errorf("%s with %s: %d %q", path, sent, got.StatusCode, got.text)
			}
		}
		other := ask(t, "GET", withID(u.url()+path+"?format=xml", followerID), "If-None-Match", etag)
		if other.StatusCode != 200 || other.Header.Get("Cache-Control") != "private, no-cache" {
			t.Errorf("%s in another format: %d %v", path, other.StatusCode, other.Header)
		}
	}
}

// The requests of a run of the provider's updater give the same names, digests and bytes.
func TestTheUpdatersRequestsAreAnsweredAsByTheProvider(t *testing.T) {
	e := startProvider(t)
	e.AddSample()
	tool := emulator.File{Class: emulator.ClassLibrary, OS: "WINDOWS", Compiler: "NET", Architecture: "ANY", Release: "2026.09", Name: "mdTool.exe", Tag: "NET7"}
	e.SetManifest("tools", "2026.10", tool)
	bins := entry("dq_addr_bins")
	bins.Release = "2026.Q3"
	extras := config.Manifest{Name: "extras", Release: manifest.Latest, Files: []manifest.Reference{manifest.Parts{Class: manifest.Library, OS: "WINDOWS", Compiler: "NET", Architecture: "ANY", Release: manifest.Latest, Name: "mdTool.exe", Tag: "NET7"}.Reference()}}
	h := startHost(t, e, entry("dq_addr_data"), bins, entry("tools"), config.Manifest{Name: "suite", Release: manifest.Latest, Product: "DataQualitySuite"}, extras)
	h.sync()
	u := startUpstream(t, h.engine.Followers.Catalog(), nil)
	text, err := os.ReadFile("../../emulator/testdata/updater_requests.golden")
	must(t, err)
	requests := 0
	for line := range strings.Lines(string(text)) {
		_, path, _ := strings.Cut(strings.TrimSpace(line), " ")
		want := ask(t, "GET", e.URL()+path)
		if location := want.Header.Get("Location"); location != "" {
			want = ask(t, "GET", location)
		}
		got := ask(t, "GET", u.url()+strings.ReplaceAll(path, url.QueryEscape(customerID), url.QueryEscape(followerID)))
		if got.StatusCode != 200 || got.text != localised(want, e.URL(), u.url()).text {
			t.Errorf("%s: %d, %d bytes, want %d bytes", path, got.StatusCode, len(got.text), len(want.text))
		}
		requests++
	}
	if requests < 40 {
		t.Errorf("only %d requests", requests)
	}
	var names []string
	must(t, json.Unmarshal([]byte(ask(t, "GET", withID(u.url()+"/ManifestReleases/dq_addr_data?format=json", followerID)).text), &names))
	if strings.Join(names, " ") != "2026.10" {
		t.Errorf("releases %q", names)
	}
}

// The memory for an answer does not grow with the list.
func TestALongListIsSentInPieces(t *testing.T) {
	e := startProvider(t)
	var files []emulator.File
	for i := range 5000 {
		files = append(files, emulator.File{Class: emulator.ClassLibrary, OS: "LINUX", Compiler: "GCC48", Architecture: "64BIT", Name: fmt.Sprintf("lib%d&<>\".so", i), Content: emulator.Text("same")})
	}
	e.SetManifest("long", "2026.10", files...)
	h := startHost(t, e, entry("long"))
	h.sync()
	u := startUpstream(t, h.engine.Followers.Catalog(), nil)
	for _, format := range formatValues[:7] {
		want := localised(ask(t, "GET", withID(withFormat(e.URL()+"/Manifest/latest/long", format), customerID)), e.URL(), u.url())
		if got := ask(t, "GET", withID(withFormat(u.url()+"/Manifest/latest/long", format), followerID)); got.text != want.text || got.ContentLength != int64(len(want.text)) {
			t.Errorf("%s: %d bytes of %d, want %d", format, len(got.text), got.ContentLength, len(want.text))
		}
	}
	largest := &largestWrite{}
	c := &call{s: u.Service, format: formatJSON, id: followerID}
	revision, err := h.engine.Followers.Catalog().Snapshot().Manifest("long", "latest", nil)
	must(t, err)
	c.linksOf(revision).write(largest)
	if largest.bytes > 2*listPiece || largest.writes < 5000*100/listPiece {
		t.Errorf("%d pieces of up to %d bytes", largest.writes, largest.bytes)
	}
}

// largestWrite measures writes.
type largestWrite struct{ bytes, writes int }

func (w *largestWrite) Write(p []byte) (int, error) {
	w.bytes, w.writes = max(w.bytes, len(p)), w.writes+1
	return len(p), nil
}
