package sync_test

import (
	"strings"
	"syscall"
	"testing"

	"syncd/internal/e2e"
	"syncd/internal/emulator"
)

const sampleEntries = `
manifests:
  - {name: suite, product: DataQualitySuite}
  - {name: extras, files: ["Data/latest/ews.txt", "Library/LINUX/GCC48/64BIT/latest/libmdAddr.so"]}
  - {name: net7, files: ["Library/WINDOWS/NET/ANY/latest/mdTool.exe"], tag: NET7}
`

// withEntries configures a product, single files and a variant of the sample.
func withEntries(t *testing.T, more string) *e2e.Host {
	h := e2e.NewHost(t)
	h.Settings.Manifests = nil
	configureEntries(h, sampleEntries+more)
	return h
}

// configureEntries writes the configuration with other manifests and further keys.
func configureEntries(h *e2e.Host, text string) {
	h.Helper()
	h.Configure()
	before := h.Read("syncd.yaml")
	h.Write("syncd.yaml", strings.Replace(string(before), "\nmanifests:\n", text, 1), 0o644)
}

func TestProductsSingleFilesAndVariantsAreMirrored(t *testing.T) {
	t.Parallel()
	h := withEntries(t, "")
	result := h.Sync(0)
	e2e.Same(h, "manifests", 3, len(result.Manifests))
	paths := map[string][]string{}
	for _, name := range []string{"suite", "extras", "net7"} {
		for path := range h.Published(name) {
			paths[name] = append(paths[name], path)
		}
	}
	e2e.Same(h, "files of suite", []string{"DataQualitySuite"}, paths["suite"])
	e2e.Same(h, "number of extras", 2, len(paths["extras"]))
	e2e.Same(h, "files of net7", []string{"windows/net/any/mdTool.exe"}, paths["net7"])
	e2e.Same(h, "releases", "2026.10 2026.10 2026.09", result.Manifests[0].Release+" "+result.Manifests[1].Release+" "+result.Manifests[2].Release)
	h.Expect(0, "verify")
	h.Contains("files net7", h.Expect(0, "files", "net7").Stdout, "Library/WINDOWS/NET/ANY/2026.09/mdTool.exe?tag=NET7\n")
	h.Contains("files suite", h.Expect(0, "files", "suite", "2026.09").Stdout, "Product/2026.09/DataQualitySuite\n")
	h.Contains("releases suite", h.Expect(0, "releases", "suite").Stdout, "2026.08", "2026.10")

	h.Provider.AdvanceSample() // the product changes
	result = h.Sync(0)
	e2e.Same(h, "result", "2026.11 updated", result.Manifests[0].Release+" "+result.Manifests[0].Result)
	h.Flip("suite/DataQualitySuite")
	h.Expect(0, "verify", "--repair")
	h.Flip("net7/windows/net/any/mdTool.exe")
	h.Expect(0, "verify", "--repair", "net7")
}

func TestGetTakesAVariant(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	const path = "Library/WINDOWS/NET/ANY/2026.09/mdTool.exe"
	h.Expect(0, "get", path, "--tag", "NET7", "-o", h.Path("flag"))
	h.Expect(0, "get", path+"?tag=NET7", "-o", h.Path("path"))
	e2e.Same(h, "content", h.DigestOf(h.Path("flag", "mdTool.exe")), h.DigestOf(h.Path("path", "mdTool.exe")))
	h.Expect(1, "get", path, "--tag", "NET8", "-o", h.Path("other"))
	h.Expect(2, "get", path, "--tag", "a/b")
}

func TestPollOfEachEntryIsOneRequest(t *testing.T) {
	t.Parallel()
	h := withEntries(t, "schedule: \"@every 1s\"\n")
	p := h.Daemon()
	p.LoggedTimes("sync", 1)
	before := len(p.Events("sync"))
	h.Provider.ResetRequests()
	p.LoggedTimes("sync", before+3)
	p.Terminate()
	polls := 0
	for _, r := range h.Provider.Requests() {
		if polls++; !strings.HasPrefix(r.Path, "/Releases/") {
			t.Errorf("%s in a poll", r.Path)
		}
	}
	if syncs := len(p.Events("sync")) - before; polls > 3*syncs || polls == 0 {
		t.Errorf("%d requests in %d polls of three entries", polls, syncs)
	}
}

func TestRemovedManifestsAreDroppedAtOnceIfConfigured(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, "dq_addr_data", "dq_phone_data")
	h.Provider.AddSample()
	h.Sync(0)
	p := h.SyncedDaemon()
	h.Settings.Manifests, h.Settings.More = []string{"dq_phone_data"}, "removed: drop"
	h.Configure()
	p.Signal(syscall.SIGHUP)
	p.Logged("forget")
	e2e.Same(h, "served", []string{"dq_phone_data"}, h.Served())
	p.Terminate()
	h.Contains("history", h.Expect(0, "history").Stdout, "removed")
}

func TestForgetWorksWithoutADaemon(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, "dq_addr_data", "dq_phone_data")
	h.Provider.AddSample()
	h.Sync(0)
	h.Settings.Manifests = []string{"dq_phone_data"}
	h.Configure()
	out := h.Expect(0, "sync")
	h.Contains("warning", out.Stderr, "dq_addr_data", "`syncd forget` removes it")
	e2e.Same(h, "state", "orphaned", h.Status().Manifests[1].State)
	h.Contains("forget", h.Expect(0, "forget", "dq_addr_data").Stdout, "dq_addr_data", "no longer served", "generation 2")
	e2e.Same(h, "served", []string{"dq_phone_data"}, h.Served())
	e2e.Same(h, "manifests", 1, len(h.Status().Manifests))
}

func TestServiceWithoutManifestReleasesWarnsOnce(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	h.Provider.AddFault(emulator.Fault{Kind: emulator.KindStatus, Path: e2e.AtReleases, Status: 404})
	h.Contains("first sync", h.Expect(0, "sync").Stderr, "lists no releases")
	h.Provider.AdvanceSample()
	if out := h.Expect(0, "sync").Stderr; strings.Contains(out, "lists no releases") {
		t.Error(out)
	}
	e2e.Same(h, "release", "2026.11", h.Status().Manifests[0].Release)
}
