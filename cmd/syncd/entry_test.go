package main

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"syncd/internal/emulator"
)

const sampleEntries = `
manifests:
  - {name: suite, product: DataQualitySuite}
  - {name: extras, files: ["Data/latest/ews.txt", "Library/LINUX/GCC48/64BIT/latest/libmdAddr.so"]}
  - {name: net7, files: ["Library/WINDOWS/NET/ANY/latest/mdTool.exe"], tag: NET7}
`

// withEntries configures a product, single files and a variant of the sample.
func withEntries(t *testing.T, more string) *host {
	h := newHost(t)
	h.settings.manifests = nil
	h.configureEntries(sampleEntries + more)
	return h
}

// configureEntries writes the configuration with other manifests and further keys.
func (h *host) configureEntries(text string) {
	h.Helper()
	h.configure()
	before, err := os.ReadFile(h.path("syncd.yaml"))
	h.must(err)
	h.write("syncd.yaml", strings.Replace(string(before), "\nmanifests:\n", text, 1), 0o644)
}

func TestProductsSingleFilesAndVariantsAreMirrored(t *testing.T) {
	t.Parallel()
	h := withEntries(t, "")
	result := h.sync(0)
	same(h, "manifests", 3, len(result.Manifests))
	paths := map[string][]string{}
	for _, name := range []string{"suite", "extras", "net7"} {
		for path := range h.published(name) {
			paths[name] = append(paths[name], path)
		}
	}
	same(h, "files of suite", []string{"DataQualitySuite"}, paths["suite"])
	same(h, "number of extras", 2, len(paths["extras"]))
	same(h, "files of net7", []string{"windows/net/any/mdTool.exe"}, paths["net7"])
	same(h, "releases", "2026.10 2026.10 2026.09", result.Manifests[0].Release+" "+result.Manifests[1].Release+" "+result.Manifests[2].Release)
	h.expect(0, "verify")
	h.contains("files net7", h.expect(0, "files", "net7").stdout, "Library/WINDOWS/NET/ANY/2026.09/mdTool.exe?tag=NET7\n")
	h.contains("files suite", h.expect(0, "files", "suite", "2026.09").stdout, "Product/2026.09/DataQualitySuite\n")
	h.contains("releases suite", h.expect(0, "releases", "suite").stdout, "2026.08", "2026.10")

	h.provider.AdvanceSample() // the product changes
	result = h.sync(0)
	same(h, "result", "2026.11 updated", result.Manifests[0].Release+" "+result.Manifests[0].Result)
	h.flip("suite/DataQualitySuite")
	h.expect(0, "verify", "--repair")
	h.flip("net7/windows/net/any/mdTool.exe")
	h.expect(0, "verify", "--repair", "net7")
}

func TestGetTakesAVariant(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	const path = "Library/WINDOWS/NET/ANY/2026.09/mdTool.exe"
	h.expect(0, "get", path, "--tag", "NET7", "-o", h.path("flag"))
	h.expect(0, "get", path+"?tag=NET7", "-o", h.path("path"))
	same(h, "content", h.digestOf(h.path("flag", "mdTool.exe")), h.digestOf(h.path("path", "mdTool.exe")))
	h.expect(1, "get", path, "--tag", "NET8", "-o", h.path("other"))
	h.expect(2, "get", path, "--tag", "a/b")
}

func TestPollOfEachEntryIsOneRequest(t *testing.T) {
	t.Parallel()
	h := withEntries(t, "schedule: \"@every 1s\"\n")
	p := h.daemon()
	p.loggedTimes("sync", 1)
	before := len(p.events("sync"))
	h.provider.ResetRequests()
	p.loggedTimes("sync", before+3)
	p.terminate()
	polls := 0
	for _, r := range h.provider.Requests() {
		if polls++; !strings.HasPrefix(r.Path, "/Releases/") {
			t.Errorf("%s in a poll", r.Path)
		}
	}
	if syncs := len(p.events("sync")) - before; polls > 3*syncs || polls == 0 {
		t.Errorf("%d requests in %d polls of three entries", polls, syncs)
	}
}

func TestRemovedManifestsAreDroppedAtOnceIfConfigured(t *testing.T) {
	t.Parallel()
	h := newHost(t, "dq_addr_data", "dq_phone_data")
	h.provider.AddSample()
	h.sync(0)
	p := h.daemon()
	p.logged("sync")
	h.settings.manifests, h.settings.more = []string{"dq_phone_data"}, "removed: drop"
	h.configure()
	p.signal(syscall.SIGHUP)
	p.logged("forget")
	same(h, "served", []string{"dq_phone_data"}, h.served())
	p.terminate()
	h.contains("history", h.expect(0, "history").stdout, "removed")
}

func TestForgetWorksWithoutADaemon(t *testing.T) {
	t.Parallel()
	h := newHost(t, "dq_addr_data", "dq_phone_data")
	h.provider.AddSample()
	h.sync(0)
	h.settings.manifests = []string{"dq_phone_data"}
	h.configure()
	out := h.expect(0, "sync")
	h.contains("warning", out.stderr, "dq_addr_data", "`syncd forget` removes it")
	same(h, "state", "orphaned", h.status().Manifests[1].State)
	h.contains("forget", h.expect(0, "forget", "dq_addr_data").stdout, "dq_addr_data", "no longer served", "generation 2")
	same(h, "served", []string{"dq_phone_data"}, h.served())
	same(h, "manifests", 1, len(h.status().Manifests))
}

func TestServiceWithoutManifestReleasesWarnsOnce(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.provider.AddFault(emulator.Fault{Kind: emulator.KindStatus, Path: atReleases, Status: 404})
	h.contains("first sync", h.expect(0, "sync").stderr, "lists no releases")
	h.provider.AdvanceSample()
	if out := h.expect(0, "sync").stderr; strings.Contains(out, "lists no releases") {
		t.Error(out)
	}
	same(h, "release", "2026.11", h.status().Manifests[0].Release)
}
