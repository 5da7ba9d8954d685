package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"syncd/internal/emulator"
)

// attack is a hostile list of links, and the reason of its refusal.
type attack struct {
	Name, Reason string
	Links        []string
	Body         string // raw, instead of the list
}

// attacks are the shared list of attacks, which also test the parsers and the
// publisher, and bodies that are not a list of links.
func attacks(t *testing.T, base string) []attack {
	t.Helper()
	data, err := os.ReadFile("../../internal/manifest/testdata/attacks.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []attack
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		for i, link := range a.Links {
			if strings.HasPrefix(link, "/") && !strings.HasPrefix(link, "//") {
				a.Links[i] = base + link
			}
		}
	}
	honest := `"` + base + `/Download/Data/2026.11/a.dat/?ID=0123456789012345"`
	million := strings.Repeat(`,"a"`, 1_000_000)[1:]
	return append(all,
		attack{Name: "1,000,000 entries", Reason: "too_large", Body: "[" + million + "]"},
		attack{Name: "1,000,000 times one link", Reason: "too_large", Body: "[" + strings.Repeat(honest+",", 1_000_000) + honest + "]"},
		attack{Name: "1,000,000 brackets", Reason: "bad_shape", Body: strings.Repeat("[", 1_000_000)},
		attack{Name: "1,000,000 elements", Reason: "bad_shape", Body: strings.Repeat("<a>", 1_000_000)},
		attack{Name: "entities that grow", Reason: "bad_shape", Body: `<!DOCTYPE a [<!ENTITY x "xxxxxxxx"><!ENTITY y "&x;&x;&x;&x;">]><a><s>&y;</s></a>`},
		attack{Name: "raw bytes that are no UTF-8", Reason: "bad_shape", Body: "[" + honest + ",\"" + base + "/Download/Data/2026.11/\xff\"]"},
		attack{Name: "a raw NUL", Reason: "bad_shape", Body: "[" + honest + ",\"" + base + "/Download/Data/2026.11/\x00\"]"},
		attack{Name: "text with an attack in its second line", Reason: "bad_name", Body: base + "/Download/Data/2026.11/a.dat\r\n" + base + "/Download/Data/2026.11/..%2fb"},
		attack{Name: "XML with an attack in an escape", Reason: "bad_name", Body: "<a><s>" + base + "/Download/Data/2026.11/a.dat</s><s>/Download/Data/2026.11/&#46;&#x2e;</s></a>"},
		attack{Name: "an empty list", Reason: "empty", Body: "[]"},
		attack{Name: "entries that are no text", Reason: "bad_shape", Body: `[["a"]]`},
		attack{Name: "a name that holds the Customer ID", Reason: "bad_name", Body: `["` + base + `/Download/Data/2026.11/{id}"]`},
	)
}

// Each attack is a manifest of its own. One sync has all of them and a good one.
func TestEveryAttackIsRefusedAndTheOldReleaseStays(t *testing.T) {
	t.Parallel()
	h := newHost(t, "honest")
	files := []emulator.File{{Name: "a.dat", Content: emulator.Text("a")}, {Name: "b.dat", Content: emulator.Text("b")}}
	h.provider.SetManifest("honest", "2026.10", files...)
	all := attacks(t, h.provider.URL())
	for i := range all {
		name := fmt.Sprintf("m%02d", i)
		h.settings.manifests = append(h.settings.manifests, name)
		h.provider.SetManifest(name, "2026.10", files...)
	}
	h.configure()
	h.sync(0)
	for i, a := range all {
		name := fmt.Sprintf("m%02d", i)
		h.provider.SetLinks(name, "2026.11", slices.Concat([]string{h.provider.URL() + "/Download/Data/2026.11/a.dat"}, a.Links)...)
		if a.Body != "" {
			h.provider.AddFault(emulator.Fault{Kind: emulator.KindBody, Path: "/Manifest/2026.11/" + name, Body: a.Body})
		}
	}
	h.provider.SetManifest("honest", "2026.11", append(files, emulator.File{Name: "n.dat", Content: emulator.Text("new")})...)
	before, around := h.published("m00"), namesIn(h, h.dir)
	h.provider.ResetRequests()

	r := h.sync(1)
	same(h, "the honest one", "updated", r.Manifests[0].Result)
	for i, a := range all {
		m := r.Manifests[i+1]
		if got := []string{m.Result, m.Reason, m.Release}; !slices.Equal(got, []string{"refused", a.Reason, "2026.10"}) || m.Error == "" {
			t.Errorf("%s: %v %q, want %s", a.Name, got, m.Error, a.Reason)
		}
		same(h, a.Name, before, h.published(m.Name))
	}
	h.proven()
	same(h, "what lies around the data directory", around, namesIn(h, h.dir))
	same(h, "files asked for", []string{
		"/Download/Data/2026.11/n.dat", "/Metadata/Data/2026.11/n.dat",
		"/SHA256/Data/2026.11/a.dat", "/SHA256/Data/2026.11/b.dat", "/SHA256/Data/2026.11/n.dat",
	}, h.filesAskedFor())
	reliability(t, "attacks, end to end", "a list of links that means harm, in a sync with an honest one", len(all))
}

// filesAskedFor are the paths of the requests for single files.
func (h *host) filesAskedFor() []string {
	var paths []string
	for _, r := range h.provider.Requests() {
		if r.Host == emulator.HostRelease && !strings.HasPrefix(r.Path, "/Manifest") {
			paths = append(paths, r.Path)
		}
	}
	slices.Sort(paths)
	return paths
}

func TestLinkToAnotherHostCausesNoRequestThere(t *testing.T) {
	t.Parallel()
	h := newHost(t, "m")
	other, err := emulator.Start(emulator.Config{})
	h.must(err)
	defer other.Close()
	files := []emulator.File{{Name: "a.dat", Content: emulator.Text("right")}, {Name: "b.dat", Content: emulator.Text("right too")}}
	h.provider.SetManifest("m", "2025.10", files...)
	h.sync(0)
	want := h.published("m")
	other.SetManifest("m", "2025.11", emulator.File{Name: "a.dat", Content: emulator.Text("wrong")}, emulator.File{Name: "b.dat", Content: emulator.Text("wrong")})
	elsewhere := strings.TrimPrefix(other.URL(), "http://")
	links := []string{
		"http://" + elsewhere, "HTTP://" + elsewhere, "https://" + elsewhere, "http://user:secret@" + elsewhere,
		"http://" + strings.TrimPrefix(h.provider.URL(), "http://") + "@" + elsewhere,
		"http://" + elsewhere + "/proxy/" + h.provider.URL()[len("http://"):],
	}
	for i, link := range links {
		release := fmt.Sprintf("2026.%02d", i+1)
		h.provider.SetManifest("m", release, files...)
		h.provider.SetLinks("m", release, link+"/Download/Data/"+release+"/a.dat?ID=1", link+"/Download/Data/"+release+"/b.dat")
		same(h, link, release, h.sync(0).Manifests[0].Release)
		same(h, link, want, h.published("m"))
	}
	same(h, "requests to the other host", 0, len(other.Requests()))
	reliability(t, "links to another host", "a release with links there mirrored, and no request sent to it", len(links))
}

// A doubly escaped name is an ordinary name: it is decoded only once.
func TestNamesAreDecodedOnlyOnce(t *testing.T) {
	t.Parallel()
	h := newHost(t, "m")
	const name = "%2e%2e%2f%2e%2e%2fescaped"
	h.provider.SetManifest("m", "2026.10", emulator.File{Name: name, Content: emulator.Text("a")})
	h.sync(0)
	same(h, "files", []string{name}, sortedKeys(h.published("m")))
	h.proven()
}
