package syncer_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"syncd/internal/emulator"
	"syncd/internal/golive"
	"syncd/internal/golive/destroyer"
	"syncd/internal/golive/rollback"
	"syncd/internal/manifest"
	"syncd/internal/manifest/expiry"
	"syncd/internal/mirror"
	"syncd/internal/mirror/destroy"
	"syncd/internal/mirror/staging"
	"syncd/internal/report"
	"syncd/internal/report/request"
)

// destroyer destroys what the world's tree has.
func (w *world) destroyer() destroyer.Destroyer {
	return destroyer.Destroyer{Tree: w.syncer.Tree(), Schedule: &w.destructions}
}

// destroyNow destroys one revision, and expects it to work.
func (w *world) destroyNow(name, id string) destroy.Destruction {
	w.Helper()
	release, revision := splitID(id)
	done, err := w.destroyer().Destroy(w.Context(), destroy.Order{Manifest: name, Release: release, Revision: revision, Cause: destroy.Command})
	must(w, err)
	return done
}

func splitID(id string) (manifest.Release, string) {
	i := bytes.LastIndexByte([]byte(id), '-')
	return manifest.Release(id[:i]), id[i+1:]
}

// before names the revision that was served before the served one.
func (w *world) before(name string) string {
	w.Helper()
	records, err := w.cfg.Mirror.Records.Revisions(name)
	must(w, err)
	return records[1].ID()
}

// gone requires that no file of the data directory has one of the contents, whatever its name.
func (w *world) gone(contents ...string) {
	w.Helper()
	for _, name := range w.holding(w.dir, contents...) {
		w.Errorf("%s holds a destroyed content", name)
	}
}

// holding lists the files below a folder that begin with one of the contents.
func (w *world) holding(root string, contents ...string) (names []string) {
	w.Helper()
	must(w, filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(name)
		if slices.ContainsFunc(contents, func(content string) bool { return string(text) == content }) {
			names = append(names, name)
		}
		return err
	}))
	return names
}

func sum(content string) string { return manifest.ObjectID(sha256.Sum256([]byte(content))).String() }

func TestADestroyedRevisionIsGoneAndWhatOthersShareStays(t *testing.T) {
	w := advanced(t) // september, october, november
	october, current := w.before("data"), w.cfg.Mirror.Current().Records["data"].Key()
	first := w.destroyNow("data", october)
	equal(t, "contents of october that are gone", first.Gone(), 0) // september and november share all of them
	equal(t, "b.dat is shared with", sharedWith(first, "b of october"), []string{current})
	september := w.before("data")
	second := w.destroyNow("data", september)
	equal(t, "contents of september that are gone", second.Gone(), 2)
	w.gone("b of september", "c")
	equal(t, "c.txt is shared with", sharedWith(second, "c"), []string{})
	equal(t, "a.dat is shared with", sharedWith(second, "a of september"), []string{current})
	w.serves("data", november())
	for _, id := range []string{october, september} {
		if _, err := os.Stat(filepath.Join(w.dir, "revisions/data", id)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the tree of %s is there: %v", id, err)
		}
	}
	w.expect(w.poll(), "data", report.Unchanged)
	equal(t, "bytes", w.metric("syncd_destroyed_bytes_total", "manifest=data"), float64(len("b of september")+len("c")))
}

// sharedWith names what keeps a content of a destruction.
func sharedWith(d destroy.Destruction, content string) []string {
	for _, c := range d.Contents {
		if c.SHA256 == sum(content) {
			return c.SharedWith
		}
	}
	return nil
}

func TestADestroyedRevisionLeavesTheOthersOfItsGeneration(t *testing.T) {
	w := start(t, "data", "more")
	w.cfg.RetainFor = 1 << 40
	w.configure()
	w.publish("data", "2026.09", september())
	w.publish("more", "2026.09", files{"x": "x of september"})
	w.demand()
	w.publish("data", "2026.10", files{"a.dat": "another"})
	w.publish("more", "2026.10", files{"x": "x of october"})
	w.force()
	w.destroyNow("data", w.before("data"))
	w.gone("a of september", "b of september", "c", "d")
	text, err := os.ReadFile(filepath.Join(w.dir, "generations/000001/more/x"))
	equal(t, "of the other manifest", string(text), "x of september")
	must(t, err)
	g, err := w.cfg.Mirror.Generations.Find(1)
	must(t, err)
	equal(t, "manifests of generation 1", g.Names(), []string{"more"})
	list, err := w.syncer.Tree().Destroyed.Destructions("data")
	if err != nil || len(list) != 1 || list[0].GoneBytes() == 0 || list[0].Gone() != 4 {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestWhatIsServedIsNeverDestroyed(t *testing.T) {
	w := served(t)
	served := w.cfg.Mirror.Current().Records["data"]
	_, err := w.destroyer().Destroy(t.Context(), destroy.Order{Manifest: "data", Release: served.Release, Revision: served.Revision, Cause: destroy.Publisher})
	var isServed *destroy.ServedError
	if !errors.As(err, &isServed) {
		t.Errorf("got %v", err)
	}
	w.serves("data", september())
}

// hasDestroyed is a world that serves october; september is destroyed, and is the wanted
// release again.
func hasDestroyed(t *testing.T) *world {
	w := served(t)
	w.publish("data", "2026.10", files{"a.dat": "a of october", "b.dat": "b of october"})
	w.expect(w.force(), "data", report.Updated)
	w.destroyNow("data", w.before("data"))
	w.target("data", func(t *golive.Target) { t.Release = "2026.09" })
	return w
}

func TestADestroyedReleaseComesBackByForceOnly(t *testing.T) {
	w := hasDestroyed(t)
	contents := []string{"a of september", "b of september", "c", "d"}
	w.expect(w.poll(), "data", report.Unchanged)
	w.expect(w.demand(), "data", report.Unchanged)
	w.pass(48 * time.Hour)
	w.expect(w.poll(), "data", report.Unchanged)
	w.restart()
	w.expect(w.demand(), "data", report.Unchanged)
	w.gone(contents...)
	status := w.status()
	status.Explain(time.Now())
	if m := status.Manifests[0]; m.Destroyed == nil || m.Destroyed.Release != "2026.09" || !strings.Contains(m.Explanation, "2026.09 was destroyed by `syncd destroy` at ") {
		t.Errorf("status: %+v", m)
	}
	w.expect(w.force(), "data", report.Updated)
	w.serves("data", september())
	w.expect(w.poll(), "data", report.Unchanged)
	equal(t, "destroyed", w.status().Manifests[0].Destroyed, (*report.DestroyedRelease)(nil))
}

func TestADestroyedReleaseComesBackByPin(t *testing.T) {
	w := hasDestroyed(t)
	w.target("data", func(t *golive.Target) { t.Release = manifest.Latest })
	_, err := golive.Order(t.Context(), w.syncer.Tree(), request.Order{Manifests: []string{"data"}, Release: "2026.09", Trigger: request.TriggerPin})
	must(t, err)
	w.expect(w.poll(), "data", report.Updated)
	w.serves("data", september())
}

func TestAnotherRevisionOfADestroyedReleaseIsFetched(t *testing.T) {
	w := hasDestroyed(t)
	w.publish("data", "2026.09", files{"a.dat": "a of september", "b.dat": "b again", "c.txt": "c", "d.lic": "d"})
	w.target("data", func(t *golive.Target) { t.Release = manifest.Latest })
	w.publish("data", "2026.11", november())
	w.expect(w.demand(), "data", report.Updated)
	w.target("data", func(t *golive.Target) { t.Release = "2026.09" })
	w.expect(w.demand(), "data", report.Updated)
}

func TestANarrowerOrWiderFilterBringsNothingBack(t *testing.T) {
	for name, change := range map[string]func(w *world){
		"narrower": func(w *world) { w.filter(manifest.Filter{Exclude: []string{"a.dat"}}) },
		"wider": func(w *world) {
			more := september()
			more["e.dat"] = "e"
			w.publish("data", "2026.09", more)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := hasDestroyed(t)
			change(w)
			w.expect(w.demand(), "data", report.Unchanged)
			w.gone("a of september", "b of september", "c", "d")
		})
	}
}

func (w *world) filter(f manifest.Filter) {
	w.target("data", func(t *golive.Target) { t.Filter = f })
}

func TestADestroyedStagedRevisionIsGone(t *testing.T) {
	w := served(t)
	w.target("data", func(t *golive.Target) { t.Activate = staging.Policy{Manual: true} })
	w.publish("data", "2026.10", october())
	w.expect(w.demand(), "data", report.Unchanged)
	e := w.cfg.Staging.Get("data")
	done := w.destroyNow("data", e.ID())
	equal(t, "contents that are gone", done.Gone(), 1)
	w.gone("b of october")
	equal(t, "staged", w.cfg.Staging.Get("data").Manifest, "")
	w.expect(w.demand(), "data", report.Unchanged)
	equal(t, "staged again", w.cfg.Staging.Get("data").Manifest, "")
	w.expect(w.force(), "data", report.Unchanged)
	equal(t, "staged by force", w.cfg.Staging.Get("data").ID(), e.ID())
}

func TestFragmentsAreDestroyed(t *testing.T) {
	w := served(t)
	large := strings.Repeat("a large file. ", 400_000)
	w.publish("data", "2026.10", files{"a.dat": large, "b.dat": "b of october"})
	w.provider.AddFault(emulator.Fault{Kind: emulator.KindTruncate, Host: emulator.HostDownload, Path: "*/a.dat", After: 3 << 20, Times: 1})
	w.provider.AddFault(emulator.Fault{Kind: emulator.KindStatus, Host: emulator.HostDownload, Path: "*/a.dat", Status: 404})
	w.expect(w.demand(), "data", report.Failed)
	if names := w.partials(); len(names) == 0 {
		t.Fatal("nothing is unfinished")
	}
	w.restart()
	done, err := w.destroyer().Destroy(t.Context(), destroy.Order{Manifest: "data", Release: "2026.10", Cause: destroy.Command})
	must(t, err)
	equal(t, "unfinished downloads", w.partials(), []string{})
	w.gone("b of october")
	if done.GoneBytes() < 1<<20 { // b.dat may have come, or not
		t.Errorf("contents: %+v", done.Contents)
	}
	w.provider.ClearFaults()
	w.expect(w.demand(), "data", report.Unchanged)
	equal(t, "unfinished downloads", w.partials(), []string{})
	w.expect(w.force(), "data", report.Updated)
}

func TestDestroyAfterNeedsTwoWitnesses(t *testing.T) {
	w := served(t)
	w.target("data", func(t *golive.Target) { t.DestroyAfter = 90 * 24 * time.Hour })
	w.publish("data", "2026.10", files{"a.dat": "a of october", "b.dat": "b of october"})
	w.expect(w.force(), "data", report.Updated)
	september := []string{"a of september", "b of september", "c", "d"}
	real, year := time.Now(), 366*24*time.Hour
	for _, row := range []struct {
		name                  string
		clock, header, seenAt time.Duration // since now; a header below 0 is none, and seenAt is Steady
		gone                  bool
		waits                 string
	}{
		{"in time", 89 * 24 * time.Hour, 89 * 24 * time.Hour, 89 * 24 * time.Hour, false, ""},
		{"the clock jumped ahead", year, 0, 0, false, "no Date header of the provider from the last 48 hours"},
		{"the clock jumped ahead before the last poll", year, 0, year, false, "the last Date header of the provider says"},
		{"no header", year, -1, 0, false, "no Date header"},
		{"bundles, and the clock jumped ahead", year, -1, 48 * time.Hour, false, "import a newer bundle"},
		{"the provider is ahead", 0, year, 0, false, ""},
		{"both agree", 91 * 24 * time.Hour, 91 * 24 * time.Hour, 91 * 24 * time.Hour, true, ""},
	} {
		w.present = &expiry.Present{Clock: real.Add(row.clock), Header: real.Add(row.header), SeenAt: real.Add(row.seenAt)}
		if row.header < 0 {
			w.present.Header, w.present.Steady = time.Time{}, real.Add(row.seenAt)
			if row.seenAt == 0 {
				w.present.Steady = time.Time{}
			}
		}
		must(t, w.destroyer().DestroyDue(t.Context()))
		if isGone := len(w.holding(w.dir, september...)) == 0; isGone != row.gone {
			t.Errorf("%s: gone: %t", row.name, isGone)
		}
		if waits := w.destructions.Waiting()["data"]; (waits == "") != (row.waits == "") || !strings.Contains(waits, row.waits) {
			t.Errorf("%s: it waits because %q", row.name, waits)
		}
	}
	list, err := w.syncer.Tree().Destroyed.Destructions("data")
	if err != nil || len(list) != 1 || list[0].Cause != destroy.DestroyAfter {
		t.Errorf("%+v, %v", list, err)
	}
	w.serves("data", files{"a.dat": "a of october", "b.dat": "b of october"})
}

func TestWhatWasNeverServedIsDueAfterItWasComplete(t *testing.T) {
	w := served(t)
	w.target("data", func(t *golive.Target) { t.Activate, t.DestroyAfter = staging.Policy{Manual: true}, time.Hour })
	w.publish("data", "2026.10", october())
	w.expect(w.demand(), "data", report.Unchanged)
	later := time.Now().Add(2 * time.Hour)
	w.present = &expiry.Present{Clock: later, Header: later, SeenAt: later}
	equal(t, "due", !w.destroyer().NextDue().After(later), true)
	must(t, w.destroyer().DestroyDue(t.Context()))
	w.gone("b of october")
	w.serves("data", september())
	w.expect(w.demand(), "data", report.Unchanged)
	w.gone("b of october")
}

func (w *world) destroyRelease(name string, releases ...string) (report.DestroyResult, error) {
	return w.destroyer().Command(w.Context(), request.Destroy{Manifest: name, Releases: releases})
}

func TestARollbackGoesPastWhatWasDestroyed(t *testing.T) {
	w := advanced(t) // september, october, november
	w.destroyNow("data", w.before("data"))
	w.rollback(request.Rollback{})
	w.serves("data", september())
	w.held("2026.11")
	if _, err := w.destroyRelease("data", "2026.11"); err != nil { // it was left by the rollback
		t.Error(err)
	}
	w.gone("c of november")
	w.expect(w.demand(), "data", report.Unchanged)
	w.gone("c of november")
	if _, err := rollback.Do(t.Context(), w.syncer.Tree(), request.Rollback{}); err == nil || !strings.Contains(err.Error(), "nothing to go back to") {
		t.Errorf("rollback: %v", err)
	}
	w.serves("data", september())
}

func TestADiscardedRevisionIsDestroyed(t *testing.T) {
	for _, isPruned := range []bool{false, true} {
		w := served(t)
		w.target("data", func(t *golive.Target) { t.Activate = staging.Policy{Manual: true} })
		w.publish("data", "2026.10", october())
		w.expect(w.demand(), "data", report.Unchanged)
		_, err := golive.Activate(t.Context(), w.syncer.Tree(), request.Activate{Discard: true, Trigger: request.TriggerDiscard})
		must(t, err)
		if isPruned {
			w.syncer.Tree().PruneIfDue(t.Context())
		}
		result, err := w.destroyRelease("data", "2026.10")
		must(t, err)
		w.gone("b of october")
		equal(t, "destroyed", len(result.Destroyed), 1)
		equal(t, "staged", w.cfg.Staging.Get("data").Manifest, "")
		result, err = w.destroyRelease("data", "2026.10")
		must(t, err)
		equal(t, "destroyed again", len(result.Destroyed)+10*len(result.Notes), 10)
	}
}

func TestADestructionEndsTheSyncThatFetchesTheRelease(t *testing.T) {
	w := served(t)
	gate := w.gate("c.txt")
	defer close(gate)
	w.publish("data", "2026.10", files{"a.dat": "a of october", "b.dat": "b of october", "c.txt": "c of october"})
	sync := w.background("data")
	w.downloading("data")
	eventually(t, "a file has arrived", func() bool { return len(w.holding(w.dir, "a of october", "b of october")) == 2 })
	result, err := w.destroyRelease("data", "2026.10")
	must(t, err)
	equal(t, "destroyed", len(result.Destroyed), 1)
	w.expect(sync.wait(), "data", report.Unchanged)
	w.gone("a of october", "b of october", "c of october")
	equal(t, "unfinished downloads", w.partials(), []string{})
	w.serves("data", september())
	w.expect(w.demand(), "data", report.Unchanged)
}

func TestARepairBringsNothingBack(t *testing.T) {
	w := advanced(t)
	must(t, w.destroyer().DestroyDue(t.Context()))
	damaged := mirror.Damage{}
	september, err := w.cfg.Mirror.Records.Revisions("data")
	must(t, err)
	for _, f := range september[2].Files {
		if f.Path == "b.dat" {
			damaged = mirror.Damage{Manifest: "data", File: f}
		}
	}
	w.destroyNow("data", september[2].ID())
	files, err := w.syncer.RepairObject(t.Context(), damaged.File.Object, errors.New("damaged"), true)
	equal(t, "repaired", len(files), 0)
	must(t, err)
	w.repair()
	w.gone("b of september")
}

func TestALostStateHidesNoFragments(t *testing.T) {
	w := served(t)
	w.publish("data", "2026.10", files{"a.dat": "a of october", "b.dat": "b that is lost"})
	w.comesLast("a.dat")
	w.provider.AddFault(emulator.Fault{Kind: emulator.KindStatus, Host: emulator.HostDownload, Path: "*/a.dat", Status: 404})
	w.expect(w.demand(), "data", report.Failed)
	equal(t, "files with b that is lost", len(w.holding(w.dir, "b that is lost")), 1)
	w.loseState()
	w.publish("data", "2026.11", november())
	w.expect(w.demand(), "data", report.Updated)
	w.destroyNow("data", w.before("data"))
	w.gone("b that is lost") // nothing knows what it is for
}

func TestAMonthWithSeveralRevisionsLosesThoseThatAreNotServed(t *testing.T) {
	w := served(t)
	again := september()
	again["b.dat"] = "b again"
	w.publish("data", "2026.09", again)
	w.expect(w.demand(), "data", report.Updated)
	result, err := w.destroyRelease("data", "2026.09")
	must(t, err)
	w.gone("b of september")
	equal(t, "destroyed", len(result.Destroyed), 1)
	if len(result.Notes) != 1 || !strings.Contains(result.Notes[0], "is served") {
		t.Errorf("notes: %q", result.Notes)
	}
	w.serves("data", again)
	w.expect(w.demand(), "data", report.Unchanged)
	_, err = w.destroyRelease("data", "2026.09")
	if !errors.As(err, new(*destroy.ServedError)) {
		t.Errorf("got %v", err)
	}
}

func TestWhatLeftTheConfigurationIsDestroyed(t *testing.T) {
	w := start(t, "data", "more")
	w.cfg.RetainFor = time.Hour
	w.configure()
	w.publish("data", "2026.09", september())
	w.publish("more", "2026.09", files{"x": "x of september"})
	w.demand()
	w.cfg.Targets = w.cfg.Targets[1:]
	w.configure()
	if _, err := w.destroyRelease("data", "2026.09"); !errors.As(err, new(*destroy.ServedError)) {
		t.Errorf("while it is served: %v", err)
	}
	_, err := golive.Forget(t.Context(), w.syncer.Tree(), request.Forget{Names: []string{"data"}})
	must(t, err)
	_, err = w.destroyRelease("data", "2026.09")
	must(t, err)
	w.gone("a of september", "b of september", "c", "d")
	w.serves("more", files{"x": "x of september"})
	_, err = w.destroyRelease("none", "2026.09")
	if !errors.As(err, new(*request.UnknownManifestError)) {
		t.Errorf("an unknown manifest: %v", err)
	}
}
