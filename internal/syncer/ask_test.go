package syncer_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"syncd/internal/emulator"
	"syncd/internal/golive/rollback"
	"syncd/internal/manifest"
	"syncd/internal/report"
	"syncd/internal/report/request"
)

// order are the kinds of the requests of the last sync, as they arrived.
func (w *world) order() []string {
	var kinds []string
	for _, r := range w.provider.Requests() {
		if r.Host == emulator.HostRelease {
			kind, _, _ := strings.Cut(strings.TrimPrefix(r.Path, "/"), "/")
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

func TestMetadataIsAskedOnlyForMissingContents(t *testing.T) {
	w := served(t)
	steps := []struct {
		name string
		do   func()
		want []string
	}{
		{"a full check that finds nothing new", func() { w.demand() }, nil},
		{"a release with one new file", func() { w.publish("data", "2026.10", october()); w.poll() }, []string{"/Metadata/Data/2026.10/b.dat"}},
		{"one whose contents all have other names", func() {
			w.publish("data", "2026.11", files{"a.dat": "a of september", "x.dat": "b of october", "y.txt": "c"})
			w.poll()
		}, nil},
		{"a content that two files have", func() {
			w.publish("data", "2026.12", files{"a.dat": "a of september", "p.dat": "twice", "q.dat": "twice"})
			w.poll()
		}, []string{"once"}},
	}
	for _, step := range steps {
		step.do()
		got := w.asked("/Metadata/")
		if len(step.want) == 1 && step.want[0] == "once" {
			equal(t, step.name, len(got), 1)
			continue
		}
		equal(t, step.name, got, step.want)
	}
}

func TestSizesAreAskedForUnderMD5Too(t *testing.T) {
	w := start(t, "data")
	w.cfg.Algorithm = manifest.MD5
	w.configure()
	w.publish("data", "2026.09", september())
	w.demand()
	equal(t, "at first", len(w.asked("/Metadata/")), 4)
	w.publish("data", "2026.10", october())
	w.poll()
	equal(t, "then", w.asked("/Metadata/"), []string{"/Metadata/Data/2026.10/b.dat"})
}

func TestAnotherAlgorithmAsksForNoSizes(t *testing.T) {
	w := served(t)
	w.cfg.Algorithm = manifest.SHA1
	w.configure()
	w.expect(w.poll(), "data", report.Unchanged)
	equal(t, "sizes", len(w.asked("/Metadata/")), 0)
}

func TestAHeldManifestAsksForNoSizesUntilItMovesOn(t *testing.T) {
	w := served(t)
	w.publish("data", "2026.10", october())
	w.poll()
	if _, err := rollback.Do(t.Context(), w.syncer.Tree(), request.Rollback{}); err != nil {
		t.Fatal(err)
	}
	w.cfg.Retain = 0
	w.configure()
	w.poll() // prunes what is only in the release that was left
	w.expect(w.demand(), "data", report.Unchanged)
	equal(t, "while held", len(w.asked("/Metadata/")), 0)
	w.expect(w.force(), "data", report.Updated)
	equal(t, "after", w.asked("/Metadata/"), []string{"/Metadata/Data/2026.10/b.dat"})
}

func TestMetadataIsAskedOnceForASharedContent(t *testing.T) {
	names := []string{"one", "two", "three", "four"}
	w := start(t, names...)
	for _, name := range names {
		w.publish(name, "2026.09", files{name + ".dat": "shared by all"})
	}
	result := w.demand()
	equal(t, "sizes", len(w.asked("/Metadata/")), 1)
	equal(t, "downloads", len(w.downloads()), 1)
	for _, name := range names {
		w.expect(result, name, report.Updated)
	}
}

func TestDownloadsStartAfterAllSmallRequests(t *testing.T) {
	w := start(t, "data", "more")
	content := files{}
	for i := range 50 {
		content[fmt.Sprintf("f%02d.dat", i)] = fmt.Sprint("content ", i)
	}
	w.publish("data", "2026.09", content)
	w.publish("more", "2026.09", files{"x.dat": "x"})
	w.demand()
	kinds := w.order()
	count := map[string]int{}
	for _, kind := range kinds {
		count[kind]++
	}
	equal(t, "requests", count, map[string]int{"ManifestReleases": 2, "Manifest": 2, "SHA256": 51, "Metadata": 51, "Download": 51})
	if first := slices.Index(kinds, "Download"); slices.Contains(kinds[first:], "Metadata") || slices.Contains(kinds[first:], "SHA256") {
		t.Errorf("a download before the plan was made: %v", kinds)
	}
}

func TestASlowMetadataDelaysNoOtherFilesHash(t *testing.T) {
	w := start(t, "data")
	content := files{}
	for i := range 100 {
		content[fmt.Sprintf("f%02d.dat", i)] = fmt.Sprint("content ", i)
	}
	w.publish("data", "2026.09", content)
	w.demand()
	kinds := slices.DeleteFunc(w.order(), func(kind string) bool { return kind != "SHA256" && kind != "Metadata" })
	if first := slices.Index(kinds, "Metadata"); !slices.Contains(kinds[first:], "SHA256") {
		t.Errorf("the sizes were a second phase: %v", kinds)
	}
}

func TestMetadataThatFailsForOneManifestIsAskedForByAnother(t *testing.T) {
	w := start(t, "bad", "good")
	w.publish("bad", "2026.09", files{"bad.dat": "shared"})
	w.publish("good", "2026.09", files{"good.dat": "shared"})
	w.provider.AddFault(emulator.Fault{Kind: emulator.KindStatus, Status: 404, Path: "/Metadata/*/bad.dat"})
	w.provider.AddFault(emulator.Fault{Kind: emulator.KindBody, Path: "/Metadata/*/good.dat", Body: `{"FileSize":"1000000000000000"}`})
	result := w.demand()
	for _, name := range []string{"bad", "good"} { // a size is the content's
		equal(t, name, w.expect(result, name, report.Refused).Reason, "no_space")
	}
}
