package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"syncd/internal/emulator"
)

func TestAKillAtAnyMomentLeavesACompleteGeneration(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.settings.manifests = []string{"dq_addr_data", "dq_addr_bins"}
	h.settings.more = "retain: 0\nretain_for: 0s" // so that pruning is under way too
	h.configure()
	h.sync(0)
	for i := range 14 {
		h.provider.AdvanceSample()
		p := h.start("sync")
		time.Sleep(time.Duration(10+i*20) * time.Millisecond) // anywhere; every outcome is right
		_ = p.cmd.Process.Kill()                              // fails when the sync was faster
		p.wait()
		h.expect(0, "verify")
		h.proven()
	}
	h.sync(0)
	same(h, "state", "in_sync", h.status().Manifests[0].State)
	for _, dir := range []string{"partial", "generations", "revisions/dq_addr_data", "revisions/dq_addr_bins"} {
		want := 1
		if dir == "partial" {
			want = 0
		}
		if names := namesIn(h, filepath.Join(h.data, dir)); len(names) != want {
			t.Errorf("%s holds %v, want %d entries", dir, names, want)
		}
	}
}

// proven reads current as a consumer does, by its SHA256SUMS, through one
// resolution of the symlink.
func (h *host) proven() {
	h.Helper()
	generation, err := filepath.EvalSymlinks(filepath.Join(h.data, "current"))
	h.must(err)
	lists, err := filepath.Glob(filepath.Join(generation, "*.SHA256SUMS"))
	h.must(err)
	if len(lists) == 0 {
		h.Errorf("%s is empty", generation)
	}
	for _, list := range lists {
		text, err := os.ReadFile(list)
		h.must(err)
		for scanner := bufio.NewScanner(strings.NewReader(string(text))); scanner.Scan(); {
			digest, path, _ := strings.Cut(scanner.Text(), "  ")
			same(h, path, digest, h.digestOf(filepath.Join(generation, path)))
		}
	}
}

func TestAReaderNeverSeesHalfARelease(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.settings.manifests = []string{"dq_addr_data", "dq_addr_bins"}
	h.configure()
	p := h.daemon()
	p.logged("sync")
	for n := range 4 {
		h.provider.AdvanceSample()
		code, _ := p.request("POST", "/api/v1/sync", "")
		same(h, "code", 202, code)
		for len(p.events("sync")) < n+2 {
			h.proven()
		}
		same(h, "current", fmt.Sprintf("generations/%06d", n+2), h.current())
	}
	p.terminate()
}

func TestWhatAKilledSyncFetchedIsNotFetchedAgain(t *testing.T) {
	t.Parallel()
	h := slowFile(t)
	p := h.start("sync")
	h.partial()
	h.eventually("the small file among the objects", func() bool {
		matches, _ := filepath.Glob(filepath.Join(h.data, "objects", "*", "*"))
		return len(matches) == 1
	})
	h.must(p.cmd.Process.Kill())
	p.wait()
	h.must(os.Remove(filepath.Join(h.data, "state", "syncd.db"))) // the disk is the truth
	h.provider.ClearFaults()
	h.downloads()
	h.sync(0)
	h.wantDownloads("big.dat")
}

func TestAnOrdinaryUsersSyncContinuesAfterAKillBetweenAnyTwoSteps(t *testing.T) {
	t.Parallel()
	h := asRoot(t) // only root can start others
	h.binary = copyBinary(h)
	h.as = &syscall.Credential{Uid: otherUID, Gid: otherGID}
	for _, path := range []string{h.dir, h.path("id")} {
		h.must(os.Chown(path, otherUID, otherGID))
	}
	h.provider.AddFault(emulator.Fault{Kind: emulator.KindTruncate, After: 3 << 20, Host: emulator.HostDownload, Path: "*/mdAddr.dat", Times: 1})
	h.provider.AddFault(emulator.Fault{Kind: emulator.KindStatus, Status: 404, Host: emulator.HostDownload, Path: "*/mdAddr.dat"})
	h.sync(1)
	h.provider.ClearFaults()
	matches, err := filepath.Glob(filepath.Join(h.data, "partial", "*"))
	h.must(err)
	if len(matches) == 0 {
		t.Fatal("no partial file was kept")
	}
	for _, path := range matches { // as Adopt leaves it between its chmod and its rename
		h.must(os.Chmod(path, 0o444))
	}
	h.sync(0)
	h.expect(0, "verify")
}
