package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"syncd/internal/emulator"
)

func TestVerifyOfAHealthyMirrorExits0(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.sync(0)
	h.downloads()
	h.contains("verify", h.expect(0, "verify").stdout, "5 files", "0 damaged")
	h.expect(0, "verify", "dq_addr_data")
	same(h, "verify --json", []string{"bytes: number", "damage: list", "files: number"}, shapeOf(t, h.expect(0, "verify", "--json").stdout))
	h.wantDownloads()
}

func TestRepairReplacesADamagedFileInEveryRevision(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.sync(0)
	h.provider.AdvanceSample() // changes only mdAddr.dat: both revisions share ews.txt
	h.sync(0)
	proven := h.published("dq_addr_data")
	h.flip("dq_addr_data/ews.txt")
	h.must(os.Remove(h.inRevision("dq_addr_data/mdAddr.lic")))
	h.downloads()

	r := h.expect(1, "verify")
	h.contains("verify", r.stdout, "DAMAGED  dq_addr_data/ews.txt", "DAMAGED  dq_addr_data/mdAddr.lic", "2 damaged", "`syncd verify --repair` replaces them")
	h.expect(1, "verify", "--json")
	h.wantDownloads()

	r = h.expect(0, "verify", "--repair")
	h.contains("repair", r.stdout, "repaired  dq_addr_data/ews.txt", "repaired  dq_addr_data/mdAddr.lic")
	h.wantDownloads("ews.txt") // the object of mdAddr.lic was whole
	same(h, "published", proven, h.published("dq_addr_data"))
	h.expect(0, "verify")
	object := filepath.Join(h.data, "objects", proven["ews.txt"][:2], proven["ews.txt"])
	revisions, err := filepath.Glob(filepath.Join(h.data, "revisions", "dq_addr_data", "*", "ews.txt"))
	h.must(err)
	same(h, "revisions", 2, len(revisions))
	for _, path := range append(revisions, h.inRevision("dq_addr_data/ews.txt")) {
		if !sameFile(h, path, object) {
			t.Errorf("%s is no link to its object", path)
		}
	}
	h.expect(0, "rollback")
	h.expect(0, "verify")
}

// inRevision is the path of a published file with all symlinks resolved.
func (h *host) inRevision(path string) string {
	h.Helper()
	real, err := filepath.EvalSymlinks(filepath.Join(h.data, "current", path))
	h.must(err)
	return real
}

func sameFile(h *host, a, b string) bool {
	h.Helper()
	x, err := os.Stat(a)
	h.must(err)
	y, err := os.Stat(b)
	h.must(err)
	return os.SameFile(x, y)
}

func TestRepairWithoutAProviderExits1(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.sync(0)
	h.flip("dq_addr_data/ews.txt")
	h.provider.AddFault(emulator.Fault{Kind: emulator.KindCorrupt, Host: emulator.HostDownload})
	h.contains("repair", h.expect(1, "verify", "--repair").stdout, "DAMAGED  dq_addr_data/ews.txt", "not repaired")
}

func TestVerifyFindsDamageThatASyncIgnores(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.sync(0)
	h.flip("dq_addr_data/ews.txt")
	h.sync(0)
	h.expect(1, "verify")
}

func TestRollbackHoldsThePreviousRevisions(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	first := h.sync(0).Manifests[0]
	h.expect(1, "rollback") // nothing to go back to
	left := h.provider.AdvanceSample()
	h.sync(0)
	h.downloads()

	out := h.expect(0, "rollback")
	h.contains("rollback", out.stdout, "back at 2026.10-"+first.Revision, "generation 3 is served")
	same(h, "current", "generations/000003", h.current())
	s := h.status().Manifests[0]
	same(h, "status", []string{"held", first.Revision, left}, []string{s.State, s.Revision, s.HeldFrom})
	same(h, "result of a sync", "unchanged", h.sync(0).Manifests[0].Result)
	h.expect(0, "sync", "--quiet")
	h.wantDownloads()

	same(h, "result of a forced sync", "updated", h.sync(0, "--force").Manifests[0].Result)
	same(h, "release", left, h.status().Manifests[0].Release)
	h.wantDownloads()
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
			h := newHost(t, "m")
			h.provider.SetManifest("m", "2026.10", file("1"))
			h.sync(0)
			h.provider.SetManifest("m", "2026.11", file("2"))
			h.sync(0)
			h.expect(0, "rollback")
			same(h, "held", "unchanged", h.sync(0).Manifests[0].Result)
			news(h.provider)
			same(h, "ended", "updated", h.sync(0).Manifests[0].Result)
			s := h.status().Manifests[0]
			same(h, "state", []string{"in_sync", ""}, []string{s.State, s.HeldFrom})
		})
	}
}

func TestRollbackToANamedGenerationAndOfNamedManifests(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.settings.manifests = []string{"dq_addr_data", "dq_addr_bins"}
	h.configure()
	h.sync(0)
	h.provider.AdvanceSample()
	h.sync(0)
	h.provider.AdvanceSample()
	h.sync(0)

	h.contains("a generation that is gone", h.expect(1, "rollback", "99").stderr, "generation 99 is not on disk: `syncd history`")
	h.contains("the served generation", h.expect(1, "rollback", fmt.Sprint(h.status().Generation)).stderr, "is the served one")
	h.expect(0, "rollback", "1", "--manifest", "dq_addr_bins")
	var releases []string
	for _, m := range h.status().Manifests {
		releases = append(releases, m.Release, m.State)
	}
	same(h, "releases", []string{"2026.12", "in_sync", "2026.10", "held"}, releases)
	var r syncOutput
	h.must(json.Unmarshal([]byte(h.expect(0, "rollback", "--json", "2").stdout), &r))
	same(h, "generation", 5, r.Generation)
	h.expect(0, "verify")
}

func TestRollbackNeedsNoProvider(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.sync(0)
	h.provider.AdvanceSample()
	h.sync(0)
	h.provider.ResetRequests()
	h.expect(0, "rollback")
	same(h, "requests", 0, len(h.provider.Requests()))
}

func TestVerifyAcceptsRates(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.sync(0)
	for _, rate := range []string{"0", "500MiB", "2GiB/s"} {
		h.contains("verify at "+rate, h.expect(0, "verify", "--rate", rate).stdout, "5 files", "0 damaged")
		h.expect(0, "verify", "--repair", "--rate="+rate)
	}
	for _, rate := range []string{"fast", "-1", "0.1B"} {
		h.contains("verify at "+rate, h.expect(2, "verify", "--rate="+rate).stderr, "--rate", "use a form such as 50MiB")
	}
}
