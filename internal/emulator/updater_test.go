package emulator

import (
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"syncd/internal/emulator/testclient"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// updater sends the requests of the provider's own updater, see docs/wire/updater.md,
// "Requests".
type updater struct {
	*testing.T
	provider *Emulator
	id       string // as it stands in a query
}

// manifest fetches a manifest.
func (u updater) manifest(release, name string) {
	list := testclient.Send(u.T, http.MethodGet, u.provider.URL()+"/Manifest/"+release+"/"+name+"/?id="+u.id+"&format=lfList")
	if list.StatusCode != http.StatusOK || strings.Contains(list.Text, "\r") {
		u.Fatalf("%s: %d %q", name, list.StatusCode, list.Text)
	}
	for link := range strings.SplitSeq(list.Text, "\n") {
		u.link(link)
	}
}

// link fetches a file of a manifest: its metadata by the segments of the link, and the
// link itself. It takes the class by position.
func (u updater) link(link string) {
	parsed, err := url.Parse(link)
	must(u, err)
	segments := strings.Split(strings.Trim(parsed.EscapedPath(), "/"), "/")
	if classes := []string{"Data", "Library", "Interface"}; segments[0] != "Download" || !slices.Contains(classes, segments[1]) {
		u.Errorf("the class of %s is not its second segment", link)
	}
	tag := ""
	if t := parsed.Query().Get("tag"); t != "" {
		tag = "&tag=" + t
	}
	u.fetch("/metadata/"+strings.Join(segments[1:], "/")+"/?id="+u.id+tag, link)
}

// file fetches a file or a product by its segments.
func (u updater) file(segments, tag string) {
	query := "/?id=" + u.id
	if tag != "" {
		query += "&tag=" + tag
	}
	sum := testclient.Send(u.T, http.MethodGet, u.provider.URL()+"/sha256/"+segments+query)
	if sum.StatusCode != http.StatusOK || len(sum.Text) != 2*sha256.Size {
		u.Errorf("digest of %s: %d %q", segments, sum.StatusCode, sum.Text)
	}
	u.fetch("/metadata/"+segments+query, u.provider.URL()+"/Download/"+segments+query)
}

// fetch compares a download with its metadata, whose values are strings.
func (u updater) fetch(metadata, link string) {
	meta := testclient.Send(u.T, http.MethodGet, u.provider.URL()+metadata)
	var want struct{ SHA256, FileSize string }
	if err := json.Unmarshal([]byte(meta.Text), &want); err != nil || meta.StatusCode != http.StatusOK {
		u.Fatalf("%s: %d %v", metadata, meta.StatusCode, err)
	}
	redirect := testclient.Send(u.T, http.MethodGet, link)
	got := testclient.Send(u.T, http.MethodGet, redirect.Header.Get("Location")).Text
	if fmt.Sprintf("%x", sha256.Sum256([]byte(got))) != want.SHA256 || strconv.Itoa(len(got)) != want.FileSize {
		u.Errorf("%s: %d bytes, want %s with SHA-256 %s", link, len(got), want.FileSize, want.SHA256)
	}
}

// The requests of a run of the updater are answered as by the real service.
func TestUpdaterIsAnswered(t *testing.T) {
	e := start(t, Config{})
	e.AddSample()
	e.SetManifest("tools", "2026.10", File{Class: ClassLibrary, OS: "WINDOWS", Compiler: "NET", Architecture: "ANY", Release: "2026.09", Name: "mdTool.exe", Tag: "NET7"})
	u := updater{t, e, url.QueryEscape(testclient.ID)}
	u.manifest("latest", "dq_addr_data")
	u.manifest("2026.Q3", "dq_addr_bins")
	u.manifest("latest", "tools")
	u.file("Data/latest/ews.txt", "")
	u.file("Library/WINDOWS/NET/ANY/latest/mdTool.exe", "NET7")
	u.file("Interface/ANY/PYTHON/ANY/2026.08/mdAddr_pythoncode.py", "")
	u.file("PRODUCT/latest/DataQualitySuite", "")

	var lines strings.Builder
	for _, r := range e.Requests() {
		if r.Status != http.StatusOK && r.Status != http.StatusFound {
			t.Errorf("%s: %d", r.Path, r.Status)
		}
		if r.Host == HostRelease {
			fmt.Fprintf(&lines, "%s %s?%s\n", r.Method, r.Path, r.RawQuery)
		}
	}
	const golden = "testdata/updater_requests.golden"
	if *update {
		must(t, os.WriteFile(golden, []byte(lines.String()), 0o644))
	}
	want, err := os.ReadFile(golden)
	must(t, err)
	if diff := cmp.Diff(string(want), lines.String()); diff != "" {
		t.Error(diff)
	}
}
