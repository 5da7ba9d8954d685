package sync_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"syncd/internal/e2e"
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
	data, err := os.ReadFile("../../../internal/manifest/testdata/attacks.json")
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
	h := e2e.NewHost(t, "honest")
	files := []emulator.File{{Name: "a.dat", Content: emulator.Text("a")}, {Name: "b.dat", Content: emulator.Text("b")}}
	h.Provider.SetManifest("honest", "2026.10", files...)
	all := attacks(t, h.Provider.URL())
	for i := range all {
		name := fmt.Sprintf("m%02d", i)
		h.Settings.Manifests = append(h.Settings.Manifests, name)
		h.Provider.SetManifest(name, "2026.10", files...)
	}
	h.Configure()
	h.Sync(0)
	for i, a := range all {
		name := fmt.Sprintf("m%02d", i)
		h.Provider.SetLinks(name, "2026.11", slices.Concat([]string{h.Provider.URL() + "/Download/Data/2026.11/a.dat"}, a.Links)...)
		if a.Body != "" {
			h.Provider.AddFault(emulator.Fault{Kind: emulator.KindBody, Path: "/Manifest/2026.11/" + name, Body: a.Body})
		}
	}
	h.Provider.SetManifest("honest", "2026.11", append(files, emulator.File{Name: "n.dat", Content: emulator.Text("new")})...)
	before, around := h.Published("m00"), e2e.NamesIn(h, h.Dir)
	h.Provider.ResetRequests()

	r := h.Sync(1)
	e2e.Same(h, "the honest one", "updated", r.Manifests[0].Result)
	for i, a := range all {
		m := r.Manifests[i+1]
		if got := []string{m.Result, m.Reason, m.Release}; !slices.Equal(got, []string{"refused", a.Reason, "2026.10"}) || m.Error == "" {
			t.Errorf("%s: %v %q, want %s", a.Name, got, m.Error, a.Reason)
		}
		e2e.Same(h, a.Name, before, h.Published(m.Name))
	}
	h.Proven()
	e2e.Same(h, "what lies around the data directory", around, e2e.NamesIn(h, h.Dir))
	e2e.Same(h, "files asked for", []string{
		"/Download/Data/2026.11/n.dat", "/Metadata/Data/2026.11/n.dat",
		"/SHA256/Data/2026.11/a.dat", "/SHA256/Data/2026.11/b.dat", "/SHA256/Data/2026.11/n.dat",
	}, filesAskedFor(h))
	e2e.Reliability(t, "attacks, end to end", "a list of links that means harm, in a sync with an honest one", len(all))
}

// filesAskedFor are the paths of the requests for single files.
func filesAskedFor(h *e2e.Host) []string {
	var paths []string
	for _, r := range h.Provider.Requests() {
		if r.Host == emulator.HostRelease && !strings.HasPrefix(r.Path, "/Manifest") {
			paths = append(paths, r.Path)
		}
	}
	slices.Sort(paths)
	return paths
}

func TestLinkToAnotherHostCausesNoRequestThere(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, "m")
	other, err := emulator.Start(emulator.Config{})
	h.Must(err)
	defer other.Close()
	files := []emulator.File{{Name: "a.dat", Content: emulator.Text("right")}, {Name: "b.dat", Content: emulator.Text("right too")}}
	h.Provider.SetManifest("m", "2025.10", files...)
	h.Sync(0)
	want := h.Published("m")
	other.SetManifest("m", "2025.11", emulator.File{Name: "a.dat", Content: emulator.Text("wrong")}, emulator.File{Name: "b.dat", Content: emulator.Text("wrong")})
	elsewhere := strings.TrimPrefix(other.URL(), "http://")
	links := []string{
		"http://" + elsewhere, "HTTP://" + elsewhere, "https://" + elsewhere, "http://user:secret@" + elsewhere,
		"http://" + strings.TrimPrefix(h.Provider.URL(), "http://") + "@" + elsewhere,
		"http://" + elsewhere + "/proxy/" + h.Provider.URL()[len("http://"):],
	}
	for i, link := range links {
		release := fmt.Sprintf("2026.%02d", i+1)
		h.Provider.SetManifest("m", release, files...)
		h.Provider.SetLinks("m", release, link+"/Download/Data/"+release+"/a.dat?ID=1", link+"/Download/Data/"+release+"/b.dat")
		e2e.Same(h, link, release, h.Sync(0).Manifests[0].Release)
		e2e.Same(h, link, want, h.Published("m"))
	}
	e2e.Same(h, "requests to the other host", 0, len(other.Requests()))
	e2e.Reliability(t, "links to another host", "a release with links there mirrored, and no request sent to it", len(links))
}

// A doubly escaped name is an ordinary name: it is decoded only once.
func TestNamesAreDecodedOnlyOnce(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, "m")
	const name = "%2e%2e%2f%2e%2e%2fescaped"
	h.Provider.SetManifest("m", "2026.10", emulator.File{Name: name, Content: emulator.Text("a")})
	h.Sync(0)
	e2e.Same(h, "files", []string{name}, sortedKeys(h.Published("m")))
	h.Proven()
}
