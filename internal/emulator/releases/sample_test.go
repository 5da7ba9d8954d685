package releases

import (
	"net/http"
	"strings"
	"testing"

	"syncd/internal/emulator/testclient"
)

// sampleLinks returns the links of a release, without the address and the query.
func sampleLinks(t *testing.T, e *provider, manifest, release string) []string {
	t.Helper()
	a := testclient.Get(t, e, "/Manifest/"+release+"/"+manifest, "format=lfList")
	if a.StatusCode != 200 {
		t.Fatalf("%s of %s: %d", release, manifest, a.StatusCode)
	}
	var links []string
	for link := range strings.SplitSeq(a.Text, "\n") {
		link, _, _ = strings.Cut(link, "?")
		links = append(links, strings.TrimSuffix(strings.TrimPrefix(link, e.URL()+"/Download/"), "/"))
	}
	return links
}

func TestSample(t *testing.T) {
	e := start(t)
	e.AddSample()
	e.AddSample()
	want := []string{
		"Data/2026.10/mdAddr.dat", "Data/2026.08/mdAddrKey.db", "Data/2026.09/Congress.csv",
		"Data/2026.10/ews.txt", "Data/2026.08/mdAddr.lic",
	}
	same(t, want, sampleLinks(t, e, "dq_addr_data", "latest"))
	bins := strings.Join(sampleLinks(t, e, "dq_addr_bins", "2026.08"), " ")
	if n := strings.Count(bins, "/libmdAddr.so"); n != 3 {
		t.Errorf("%d libraries of one name", n)
	}
	for _, m := range []string{"dq_addr_data", "dq_addr_bins", "dq_phone_data"} {
		if got := testclient.Get(t, e, "/ManifestReleases/"+m, "format=comma").Text; got != "2026.08,2026.09,2026.10" {
			t.Errorf("%s: %s", m, got)
		}
		for _, release := range []string{"2026.08", "2026.09", "2026.10"} {
			for _, link := range sampleLinks(t, e, m, release) {
				a := testclient.Send(t, http.MethodGet, testclient.FileURL(t, e, link))
				if a.StatusCode != 200 || a.Text == "" {
					t.Errorf("%s: %d, %d bytes", link, a.StatusCode, len(a.Text))
				}
			}
		}
	}
}

func TestAdvanceSample(t *testing.T) {
	e := start(t)
	before := "2026.10"
	for _, release := range []string{"2026.11", "2026.12", "2027.01", "2027.02", "2027.03", "2027.04"} {
		if got := e.AdvanceSample(); got != release {
			t.Fatalf("got %s, want %s", got, release)
		}
		for manifest, want := range map[string]int{"dq_addr_data": 1, "dq_addr_bins": 1, "dq_phone_data": 0} {
			old, changed := sampleLinks(t, e, manifest, before), 0
			for i, link := range sampleLinks(t, e, manifest, release) {
				if link != old[i] {
					changed++
					if !strings.Contains(link, "/"+release+"/") {
						t.Errorf("%s is not new", link)
					}
					a, b := testclient.Send(t, http.MethodGet, testclient.FileURL(t, e, link)), testclient.Send(t, http.MethodGet, testclient.FileURL(t, e, old[i]))
					if a.Text == b.Text {
						t.Errorf("%s holds the same as %s", link, old[i])
					}
				}
			}
			if changed != want {
				t.Errorf("%s of %s: %d files changed, want %d", release, manifest, changed, want)
			}
		}
		before = release
	}
}
