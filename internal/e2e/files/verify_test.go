package files_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"syncd/internal/e2e"
	"syncd/internal/emulator"
)

func TestVerifyOfAHealthyMirrorExits0(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	h.Sync(0)
	h.Downloads()
	h.Contains("verify", h.Expect(0, "verify").Stdout, "5 files", "0 damaged")
	h.Expect(0, "verify", "dq_addr_data")
	e2e.Same(h, "verify --json", []string{"bytes: number", "damage: list", "files: number"}, e2e.ShapeOf(t, h.Expect(0, "verify", "--json").Stdout))
	h.WantDownloads()
}

func TestRepairReplacesADamagedFileInEveryRevision(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	h.Sync(0)
	h.Provider.AdvanceSample() // changes only mdAddr.dat: both revisions share ews.txt
	h.Sync(0)
	proven := h.Published("dq_addr_data")
	h.Flip("dq_addr_data/ews.txt")
	h.Must(os.Remove(h.InRevision("dq_addr_data/mdAddr.lic")))
	h.Downloads()

	r := h.Expect(1, "verify")
	h.Contains("verify", r.Stdout, "DAMAGED  dq_addr_data/ews.txt", "DAMAGED  dq_addr_data/mdAddr.lic", "2 damaged", "`syncd verify --repair` replaces them")
	h.Expect(1, "verify", "--json")
	h.WantDownloads()

	r = h.Expect(0, "verify", "--repair")
	h.Contains("repair", r.Stdout, "repaired  dq_addr_data/ews.txt", "repaired  dq_addr_data/mdAddr.lic")
	h.WantDownloads("ews.txt") // the object of mdAddr.lic was whole
	e2e.Same(h, "published", proven, h.Published("dq_addr_data"))
	h.Expect(0, "verify")
	object := filepath.Join(h.Data, "objects", proven["ews.txt"][:2], proven["ews.txt"])
	revisions, err := filepath.Glob(filepath.Join(h.Data, "revisions", "dq_addr_data", "*", "ews.txt"))
	h.Must(err)
	e2e.Same(h, "revisions", 2, len(revisions))
	for _, path := range append(revisions, h.InRevision("dq_addr_data/ews.txt")) {
		if !e2e.SameFile(h, path, object) {
			t.Errorf("%s is no link to its object", path)
		}
	}
	h.Expect(0, "rollback")
	h.Expect(0, "verify")
}

// A file of a revision outlives the name of its object, so readers notice nothing. Views,
// followers and buckets need the object.
func TestVerifyFindsAMissingObjectAndRepairNamesItAgain(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, "a", "b")
	h.Month("a", "2026.09", "a9")
	h.Month("b", "2026.09", "b9")
	h.Settings.More = "views: [{name: v, manifests: [a, b]}]"
	h.Configure()
	h.Sync(0)
	object := filepath.Join(h.Data, "objects", h.Published("b")["b.dat"][:2], h.Published("b")["b.dat"])
	h.Must(os.RemoveAll(filepath.Dir(object)))
	h.Month("a", "2026.10", "a10")
	h.Contains("sync", h.Expect(1, "sync").Stderr, object, "file does not exist", "run `syncd verify --repair`")
	h.Contains("bundle", h.Expect(1, "bundle", "export", h.Path("out.tar")).Stderr, object, "run `syncd verify --repair`")
	h.Contains("verify", h.Expect(1, "verify").Stdout, "DAMAGED  b/b.dat", object, "1 damaged")
	h.Downloads()
	h.Contains("repair", h.Expect(0, "verify", "--repair").Stdout, "repaired  b/b.dat")
	h.WantDownloads() // the file of the revision has the content
	if !e2e.SameFile(h, object, h.InRevision("b/b.dat")) {
		t.Error("the object is no link to the file of the revision")
	}
	h.Expect(0, "verify")
	h.Sync(0)
	h.Expect(0, "bundle", "export", h.Path("out.tar"))

	h.Must(os.Remove(object))
	h.Flip("b/b.dat")
	h.Expect(0, "verify", "--repair")
	h.WantDownloads("b.dat") // nothing on disk has the content any more
	h.Expect(0, "verify")
}

func TestRepairWithoutAProviderExits1(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	h.Sync(0)
	h.Flip("dq_addr_data/ews.txt")
	h.Provider.AddFault(emulator.Fault{Kind: emulator.KindCorrupt, Host: emulator.HostDownload})
	h.Contains("repair", h.Expect(1, "verify", "--repair").Stdout, "DAMAGED  dq_addr_data/ews.txt", "not repaired")
}

func TestVerifyFindsDamageThatASyncIgnores(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	h.Sync(0)
	h.Flip("dq_addr_data/ews.txt")
	h.Sync(0)
	h.Expect(1, "verify")
}

func TestRollbackHoldsThePreviousRevisions(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	first := h.Sync(0).Manifests[0]
	h.Expect(1, "rollback") // nothing to go back to
	left := h.Provider.AdvanceSample()
	h.Sync(0)
	h.Downloads()

	out := h.Expect(0, "rollback")
	h.Contains("rollback", out.Stdout, "back at 2026.10-"+first.Revision, "generation 3 is served")
	e2e.Same(h, "current", "generations/000003", h.Current())
	s := h.Status().Manifests[0]
	e2e.Same(h, "status", []string{"held", first.Revision, left}, []string{s.State, s.Revision, s.HeldFrom})
	e2e.Same(h, "result of a sync", "unchanged", h.Sync(0).Manifests[0].Result)
	h.Expect(0, "sync", "--quiet")
	h.WantDownloads()

	e2e.Same(h, "result of a forced sync", "updated", h.Sync(0, "--force").Manifests[0].Result)
	e2e.Same(h, "release", left, h.Status().Manifests[0].Release)
	h.WantDownloads()
}

func TestHoldEndsWithANewerReleaseOrOtherDigests(t *testing.T) {
	t.Parallel()
	file := func(text string) emulator.File { return emulator.File{Name: "a", Content: emulator.Text(text)} }
	for name, news := range map[string]func(p *emulator.Emulator){
		"newer release": func(p *emulator.Emulator) { p.SetManifest("m", "2026.12", file("3")) },
		"other digests": func(p *emulator.Emulator) { p.SetManifest("m", "2026.11", file("2, mended")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := e2e.NewHost(t, "m")
			h.Provider.SetManifest("m", "2026.10", file("1"))
			h.Sync(0)
			h.Provider.SetManifest("m", "2026.11", file("2"))
			h.Sync(0)
			h.Expect(0, "rollback")
			e2e.Same(h, "held", "unchanged", h.Sync(0).Manifests[0].Result)
			news(h.Provider)
			e2e.Same(h, "ended", "updated", h.Sync(0).Manifests[0].Result)
			s := h.Status().Manifests[0]
			e2e.Same(h, "state", []string{"in_sync", ""}, []string{s.State, s.HeldFrom})
		})
	}
}

func TestRollbackToANamedGenerationAndOfNamedManifests(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	h.Settings.Manifests = []string{"dq_addr_data", "dq_addr_bins"}
	h.Configure()
	h.Sync(0)
	h.Provider.AdvanceSample()
	h.Sync(0)
	h.Provider.AdvanceSample()
	h.Sync(0)

	h.Contains("a generation that is gone", h.Expect(1, "rollback", "99").Stderr, "generation 99 is not on disk: `syncd history`")
	h.Contains("the served generation", h.Expect(1, "rollback", fmt.Sprint(h.Status().Generation)).Stderr, "is the served one")
	h.Expect(0, "rollback", "1", "--manifest", "dq_addr_bins")
	var releases []string
	for _, m := range h.Status().Manifests {
		releases = append(releases, m.Release, m.State)
	}
	e2e.Same(h, "releases", []string{"2026.12", "in_sync", "2026.10", "held"}, releases)
	var r e2e.SyncOutput
	h.Must(json.Unmarshal([]byte(h.Expect(0, "rollback", "--json", "2").Stdout), &r))
	e2e.Same(h, "generation", 5, r.Generation)
	h.Expect(0, "verify")
}

func TestRollbackNeedsNoProvider(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	h.Sync(0)
	h.Provider.AdvanceSample()
	h.Sync(0)
	h.Provider.ResetRequests()
	h.Expect(0, "rollback")
	e2e.Same(h, "requests", 0, len(h.Provider.Requests()))
}

func TestVerifyAcceptsRates(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	h.Sync(0)
	for _, rate := range []string{"0", "500MiB", "2GiB/s"} {
		h.Contains("verify at "+rate, h.Expect(0, "verify", "--rate", rate).Stdout, "5 files", "0 damaged")
		h.Expect(0, "verify", "--repair", "--rate="+rate)
	}
	for _, rate := range []string{"fast", "-1", "0.1B"} {
		h.Contains("verify at "+rate, h.Expect(2, "verify", "--rate="+rate).Stderr, "--rate", "use a form such as 50MiB")
	}
}
