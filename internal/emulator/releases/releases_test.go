package releases

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"syncd/internal/emulator/catalogue"
	"syncd/internal/emulator/testclient"
)

// classFiles returns files of each class. One belongs to an older release.
func classFiles() []catalogue.File {
	return []catalogue.File{
		{Name: "mdAddr.dat", Content: catalogue.Text("data")},
		{Name: "old one,#%é.txt", Release: "2026.08", Content: catalogue.Text("old")},
		{Class: "library", OS: "LINUX", Compiler: "GCC48", Architecture: "64BIT", Name: "lib.so", Content: catalogue.Text("64")},
		{Class: catalogue.ClassLibrary, OS: "LINUX", Compiler: "GCC48", Architecture: "32BIT", Name: "lib.so", Content: catalogue.Text("32")},
		{Class: catalogue.ClassInterface, OS: "ANY", Language: "JAVA", Architecture: "ANY", Name: "a.jar", Content: catalogue.Text("jar")},
		{Class: catalogue.ClassProduct, Name: "all.zip", Content: catalogue.Text("zip")},
	}
}

const escapedOld = "old%20one%2C%23%25%C3%A9.txt"

func startClasses(t *testing.T) *provider {
	t.Helper()
	e := start(t)
	e.SetManifest("all", "2026.09", catalogue.File{Name: "mdAddr.dat", Content: catalogue.Text("before")})
	e.SetManifest("all", "2026.10", classFiles()...)
	e.SetManifest("other", "2026.08", catalogue.File{Name: "x", Content: catalogue.Text("x")})
	return e
}

func TestManifestLinks(t *testing.T) {
	e := startClasses(t)
	id := "?ID=" + url.QueryEscape(testclient.ID)
	base := e.URL() + "/Download/"
	want := []string{
		base + "Data/2026.10/mdAddr.dat/" + id,
		base + "Data/2026.08/" + escapedOld + id,
		base + "Library/LINUX/GCC48/64BIT/2026.10/lib.so/" + id,
		base + "Library/LINUX/GCC48/32BIT/2026.10/lib.so" + id,
		base + "Interface/ANY/JAVA/ANY/2026.10/a.jar/" + id,
		base + "Product/2026.10/all.zip" + id,
	}
	var got []string
	must(t, json.Unmarshal([]byte(testclient.Get(t, e, "/Manifest/2026.10/all", "format=json").Text), &got))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
	for i, f := range classFiles() {
		a := testclient.Send(t, http.MethodGet, got[i])
		if a.StatusCode != http.StatusFound {
			t.Fatalf("%s: status %d", got[i], a.StatusCode)
		}
		location := a.Header.Get("Location")
		if !strings.HasPrefix(location, e.DownloadURL()+"/files/") || strings.Contains(location, id[4:]) {
			t.Errorf("Location %s", location)
		}
		if body := testclient.Send(t, http.MethodGet, location).Text; body != string(testclient.ReadAll(t, f.Content)) {
			t.Errorf("%s holds %q", got[i], body)
		}
	}
}

// All lists and the hashes exist in all formats.
func TestFormats(t *testing.T) {
	e := startClasses(t)
	sum := fmt.Sprintf("%x", sha256.Sum256([]byte("data")))
	endpoints := map[string][]string{
		"/ManifestReleases/all":          {"2026.09", "2026.10"},
		"/Releases/Data/mdAddr.dat":      {"2026.09", "2026.10"},
		"/ManifestList/2026.10":          {"all", "other"},
		"/ManifestList/2026.08":          {"other"},
		"/SHA256/Data/latest/mdAddr.dat": {sum},
	}
	separators := map[string]string{"": "\r\n", "crLfList": "\r\n", "CRLFLIST": "\r\n", "lfList": "\n", "comma": ",", "tab": "\t"}
	for path, items := range endpoints {
		for f, sep := range separators {
			a := testclient.Get(t, e, path, "Format="+f)
			if want := strings.Join(items, sep); a.Text != want || a.Header.Get("Content-Type") != "text/plain; charset=utf-8" {
				t.Errorf("%s as %q: %q of %s, want %q", path, f, a.Text, a.Header.Get("Content-Type"), want)
			}
		}
		if a := testclient.Get(t, e, path, "format=json"); !json.Valid([]byte(a.Text)) || a.Header.Get("Content-Type") != "application/json; charset=utf-8" {
			t.Errorf("%s: %q of %s", path, a.Text, a.Header.Get("Content-Type"))
		}
		a := testclient.Get(t, e, path, "format=xml")
		if got := xmlTexts(t, a.Text); !cmp.Equal(got, items) && !strings.HasPrefix(path, "/ManifestList") {
			t.Errorf("%s: %q", path, a.Text)
		}
		if a.Header.Get("Content-Type") != "application/xml; charset=utf-8" {
			t.Errorf("%s as xml: %s", path, a.Header.Get("Content-Type"))
		}
		if a := testclient.Get(t, e, path, "format=yaml"); a.StatusCode != 400 || !strings.Contains(a.Text, `"errors":{"format":[`) {
			t.Errorf("%s: %d %q", path, a.StatusCode, a.Text)
		}
	}
	if got := testclient.Get(t, e, "/SHA256/Data/latest/mdAddr.dat", "format=json").Text; got != `"`+sum+`"` {
		t.Errorf("hash %s", got)
	}
}

// xmlTexts returns the texts of the innermost elements.
func xmlTexts(t *testing.T, s string) []string {
	t.Helper()
	var texts []string
	d := xml.NewDecoder(strings.NewReader(s))
	for {
		token, err := d.Token()
		if err != nil {
			if err.Error() != "EOF" {
				t.Fatalf("%q: %v", s, err)
			}
			return texts
		}
		if c, ok := token.(xml.CharData); ok && strings.TrimSpace(string(c)) != "" {
			texts = append(texts, string(c))
		}
	}
}

func TestManifestList(t *testing.T) {
	e := startClasses(t)
	var got []map[string]string
	must(t, json.Unmarshal([]byte(testclient.Get(t, e, "/ManifestList/latest", "format=json").Text), &got))
	id := "?ID=" + url.QueryEscape(testclient.ID)
	want := []map[string]string{
		{"manifestName": "all", "description": "The files of all.", "url": e.URL() + "/Manifest/2026.10/all/" + id},
		{"manifestName": "other", "description": "The files of other.", "url": e.URL() + "/Manifest/2026.08/other/" + id},
	}
	same(t, want, got)
	texts := xmlTexts(t, testclient.Get(t, e, "/ManifestList/latest", "format=xml").Text)
	if len(texts) != 6 || texts[0] != "all" || texts[5] != want[1]["url"] {
		t.Errorf("xml %q", texts)
	}
}

func TestMetadata(t *testing.T) {
	e := startClasses(t)
	sums := func(s string) map[string]string {
		return map[string]string{
			"MD5":    fmt.Sprintf("%x", md5.Sum([]byte(s))),
			"SHA1":   fmt.Sprintf("%x", sha1.Sum([]byte(s))),
			"SHA256": fmt.Sprintf("%x", sha256.Sum256([]byte(s))),
		}
	}
	tests := map[string]struct {
		content string
		more    map[string]string
	}{
		"Data/2026.10/mdAddr.dat": {"data", map[string]string{
			"FileName": "mdAddr.dat", "Release": "2026.10", "FileSize": "4", "BuildDate": "2026-10"}},
		"data/2026-09/MDADDR.DAT": {"before", map[string]string{
			"FileName": "mdAddr.dat", "Release": "2026.09", "FileSize": "6", "BuildDate": "2026-09"}},
		"Product/2026.10/all.zip": {"zip", map[string]string{
			"FileName": "all.zip", "Release": "2026.10", "FileSize": "3", "BuildDate": "2026-10"}},
		"Library/linux/gcc48/32bit/2026.10/lib.so": {"32", map[string]string{
			"FileName": "lib.so", "Release": "2026.10", "FileSize": "2", "BuildNumber": "*",
			"OS": "LINUX", "Compiler": "GCC48", "Architecture": "32BIT"}},
		"Interface/ANY/JAVA/ANY/2026.10/a.jar": {"jar", map[string]string{
			"FileName": "a.jar", "Release": "2026.10", "FileSize": "3", "Language": "JAVA", "Architecture": "ANY"}},
	}
	for path, tt := range tests {
		t.Run(path, func(t *testing.T) {
			a := testclient.Get(t, e, "/metadata/"+path, "")
			var got map[string]string
			if err := json.Unmarshal([]byte(a.Text), &got); err != nil {
				t.Fatalf("%q: %v", a.Text, err)
			}
			if tt.more["BuildNumber"] != "" {
				tt.more["BuildNumber"] = got["BuildNumber"]
			}
			want := sums(tt.content)
			maps.Copy(want, tt.more)
			same(t, want, got)
			if texts := xmlTexts(t, testclient.Get(t, e, "/Metadata/"+path, "format=xml").Text); len(texts) != len(want) {
				t.Errorf("xml %q", texts)
			}
			for hashType, sum := range sums(tt.content) {
				for _, spelled := range []string{hashType, strings.ToLower(hashType)} {
					if got := testclient.Get(t, e, "/"+spelled+"/"+path, "").Text; got != sum {
						t.Errorf("%s %s, want %s", spelled, got, sum)
					}
				}
			}
		})
	}
}

func TestErrorAnswers(t *testing.T) {
	e := startClasses(t)
	tests := []struct {
		path   string
		status int
		body   string
	}{
		{"/ManifestReleases/none", 404, `"type":"invalidManifest"`},
		{"/ManifestReleases/", 404, `"type":"invalidManifest"`},
		{"/Manifest/2026.10/none", 404, `"type":"invalidManifest"`},
		{"/Manifest/2025.01/all", 404, `"type":"invalidRelease"`},
		{"/Manifest/nonsense/all", 404, `"type":"invalidRelease"`},
		{"/Manifest/2026.10", 404, ``},
		{"/ManifestList/2020.01", 404, `"type":"invalidRelease"`},
		{"/Releases/Data/none", 404, `"traceId":"`},
		{"/Download/Data/2026.10/none", 404, `"errors":{"filename":["There`},
		{"/Download/Data/2026.09/all.zip", 404, `"status":404`},
		{"/Metadata/Data/2026.10/none", 404, `"title":"There`},
		{"/MD5/Data/2026.10/none", 404, `"title":"There`},
		{"/Download/Library/LINUX/2026.10/lib.so", 404, `"title":"There`},
		{"/Download/Other/2026.10/lib.so", 404, `"title":"There`},
		{"/Download", 404, `"title":"There`},
		{"/CRC32/Data/2026.10/mdAddr.dat", 400, `"type":"invalidHashType"`},
		{"/", 404, ``},
		{"/nothing/here", 404, ``},
	}
	for _, tt := range tests {
		t.Run(tt.path, func(t *testing.T) {
			a := testclient.Get(t, e, tt.path, "format=json")
			if a.StatusCode != tt.status || !strings.Contains(a.Text, tt.body) || tt.body == "" && a.Text != "" {
				t.Errorf("%d %s", a.StatusCode, a.Text)
			}
			if a.Text != "" && !json.Valid([]byte(a.Text)) {
				t.Errorf("not JSON: %s", a.Text)
			}
		})
	}
	for _, address := range []string{testclient.Address(e, "/Manifest/latest/all", ""), e.DownloadURL() + "/files/a/b"} {
		if a := testclient.Send(t, http.MethodPost, address); a.StatusCode != 405 || a.Header.Get("Allow") != "GET, HEAD" {
			t.Errorf("POST: %d", a.StatusCode)
		}
	}
	for _, path := range []string{"/", "/files", "/files/!!/a", "/files/YQ/a", "/files/RGF0YS8yMDI2LjEwL25vbmU/none", "/x/RGF0YS8yMDI2LjEwL25vbmU/none"} {
		if a := testclient.Send(t, http.MethodGet, e.DownloadURL()+path); a.StatusCode != 404 || a.Text != "" {
			t.Errorf("%s: %d %q", path, a.StatusCode, a.Text)
		}
	}
}

func TestValidatorsOfLists(t *testing.T) {
	e := startClasses(t)
	for _, path := range []string{"/ManifestReleases/all", "/Releases/Data/mdAddr.dat", "/Manifest/latest/all"} {
		first := testclient.Get(t, e, path, "format=json")
		etag := first.Header.Get("ETag")
		for _, sent := range []string{etag, "W/" + etag, `"x", ` + etag, "*"} {
			a := testclient.Get(t, e, path, "format=json", "If-None-Match", sent)
			if a.StatusCode != http.StatusNotModified || a.Text != "" || a.Header.Get("ETag") != etag {
				t.Errorf("%s with %s: %d %q", path, sent, a.StatusCode, a.Text)
			}
		}
		e.SetManifest("all", "2026.11", catalogue.File{Name: "mdAddr.dat", Content: catalogue.Text("new")})
		if a := testclient.Get(t, e, path, "format=json", "If-None-Match", etag); a.StatusCode != 200 || a.Text == first.Text {
			t.Errorf("%s after a change: %d %q", path, a.StatusCode, a.Text)
		}
		e.RemoveRelease("all", "2026.11")
	}
}

func TestAliasesInPaths(t *testing.T) {
	e := startClasses(t)
	for _, release := range []string{"latest", "2026-10", "2026.Q4", "2026.B5"} {
		for _, path := range []string{"/Manifest/" + release + "/ALL", "/SHA1/Data/" + release + "/mdAddr.dat", "/ManifestList/" + release} {
			if got, want := testclient.Get(t, e, path, "").Text, testclient.Get(t, e, strings.Replace(path, release, "2026.10", 1), "").Text; got != want || want == "" {
				t.Errorf("%s: %q, want %q", path, got, want)
			}
		}
	}
	if got := testclient.Get(t, e, "/Metadata/Data/2026.Q3/mdAddr.dat", "").Text; !strings.Contains(got, `"Release":"2026.09"`) {
		t.Errorf("got %s", got)
	}
}

func TestDownloadHost(t *testing.T) {
	e := start(t)
	content := testclient.ReadAll(t, catalogue.Random(3, 1000))
	files := map[string]catalogue.Content{"bytes": catalogue.Bytes(content), "random": catalogue.Random(3, 1000), "disk": catalogue.OnDisk(testclient.DiskFile(t, 1000))}
	for name, c := range files {
		e.SetManifest(name, "2026.10", catalogue.File{Name: name, Content: c})
		t.Run(name, func(t *testing.T) {
			want := string(testclient.ReadAll(t, c))
			target := testclient.FileURL(t, e, "Data/2026.10/"+name)
			a := testclient.Send(t, http.MethodGet, target)
			etag := a.Header.Get("ETag")
			if a.Text != want || a.ContentLength != 1000 || a.Header.Get("Accept-Ranges") != "bytes" ||
				a.Header.Get("Last-Modified") == "" || !strings.HasPrefix(etag, `"`) {
				t.Errorf("whole: %d bytes, %v", len(a.Text), a.Header)
			}
			a = testclient.Send(t, http.MethodGet, target, "Range", "bytes=100-199", "If-Range", etag)
			if a.StatusCode != 206 || a.Text != want[100:200] || a.Header.Get("Content-Range") != "bytes 100-199/1000" {
				t.Errorf("range: %d %v", a.StatusCode, a.Header)
			}
			a = testclient.Send(t, http.MethodGet, target, "Range", "bytes=100-199", "If-Range", `"other"`)
			if a.StatusCode != 200 || a.Text != want {
				t.Errorf("If-Range of another: %d", a.StatusCode)
			}
			if a = testclient.Send(t, http.MethodGet, target, "Range", "bytes=1000-"); a.StatusCode != 416 {
				t.Errorf("range behind the end: %d", a.StatusCode)
			}
			if a = testclient.Send(t, http.MethodGet, target, "If-None-Match", etag); a.StatusCode != 304 {
				t.Errorf("If-None-Match: %d", a.StatusCode)
			}
			for _, address := range []string{target, testclient.Address(e, "/Download/Data/2026.10/"+name, "")} {
				if a = testclient.Send(t, http.MethodHead, address); a.StatusCode >= 400 || a.Text != "" {
					t.Errorf("HEAD: %d %q", a.StatusCode, a.Text)
				}
			}
		})
	}
}

func TestBrowse(t *testing.T) {
	e := startClasses(t)
	a := testclient.Get(t, e, "/browse", "mft=all&release=2026.10&sort=dfileName")
	if a.StatusCode != 200 || !strings.HasPrefix(a.Header.Get("Content-Type"), "text/html") {
		t.Fatalf("%d %s", a.StatusCode, a.Header.Get("Content-Type"))
	}
	for _, part := range []string{"<option>other</option>", "<option selected>2026.10</option>", "mdAddr.dat", "/Download/Product/2026.10/all.zip?ID="} {
		if !strings.Contains(a.Text, part) {
			t.Errorf("no %q", part)
		}
	}
	if strings.Contains(a.Text, "src=") || strings.Contains(a.Text, "<script") {
		t.Error("the page needs something else")
	}
	for _, order := range slices.Sorted(maps.Keys(browseOrders)) {
		rows := []browseRow{
			{catalogue.File{Class: "a", OS: "a", Compiler: "a", Architecture: "a", Release: "2026.09", Name: "a"}, 1, ""},
			{catalogue.File{Class: "b", OS: "b", Compiler: "b", Architecture: "b", Release: "2026.10", Name: "b"}, 2, ""},
		}
		if sortRows(rows, "d"+order); rows[0].Name != "b" {
			t.Errorf("d%s: %v", order, rows)
		}
		if sortRows(rows, order); rows[0].Name != "a" {
			t.Errorf("%s: %v", order, rows)
		}
	}
	if a := testclient.Get(t, e, "/Browse", "mft=none"); a.StatusCode != 200 {
		t.Errorf("unknown manifest: %d", a.StatusCode)
	}
}
