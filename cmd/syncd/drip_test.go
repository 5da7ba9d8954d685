package main

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"syncd/internal/emulator"
)

// dripping is a running daemon that serves fine, and downloads every file of slow byte
// by byte.
func dripping(t *testing.T) (*host, *process) {
	t.Helper()
	h := newHost(t, "fine", "slow")
	h.settings.more = "transfers: {publish_after: 1s}"
	h.configure()
	h.provideFine("2026.10", "first")
	var drops []emulator.File
	for i := range 70 { // more small files than are downloaded at once, and more large ones than transfers.files
		drops = append(drops, emulator.File{Name: fmt.Sprintf("%02d.drip", i), Content: emulator.Text(fmt.Sprint("comes byte by byte: ", i))})
	}
	for i := range uint64(5) {
		drops = append(drops, emulator.File{Name: fmt.Sprintf("large%d.drip", i), Content: emulator.Random(i, 2<<20)})
	}
	h.provider.SetManifest("slow", "2026.10", drops...)
	h.provider.AddFault(emulator.Fault{Kind: emulator.KindSlow, Rate: 1, Host: emulator.HostDownload, Path: "*.drip"})
	p := h.daemon()
	h.eventually("fine is served", func() bool { return h.current() == "generations/000001" })
	same(h, "fine", "first", h.fine())
	h.eventually("the status says so", func() bool {
		s := h.status()
		return s.Manifests[0].State == "in_sync" && s.Manifests[1].State == "syncing"
	})
	return h, p
}

func (h *host) provideFine(release, content string) {
	h.provider.SetManifest("fine", release, emulator.File{Name: "fine.dat", Content: emulator.Text(content)})
}

// fine is what readers see of the manifest fine.
func (h *host) fine() string {
	data, _ := os.ReadFile(filepath.Join(h.data, "current", "fine", "fine.dat"))
	return string(data)
}

// still requires that slow's sync goes on, and that a signal ends the daemon all the same.
func (h *host) still(p *process) {
	h.Helper()
	same(h, "state of slow", "syncing", h.status().Manifests[1].State)
	p.terminate()
}

func TestADrippingFileHoldsUpNoOtherRelease(t *testing.T) {
	t.Parallel()
	h, p := dripping(t)
	h.still(p)
	h.provider.ClearFaults()
	h.sync(0)
	same(h, "files of slow", 75, len(h.published("slow")))
}

func TestADrippingFileHoldsUpNoSyncOfAnotherManifest(t *testing.T) {
	t.Parallel()
	h, p := dripping(t)
	h.provideFine("2026.11", "second")
	same(h, "sync", "updated", h.sync(0, "fine").Manifests[0].Result)
	h.provideFine("2026.12", "third")
	p.signal(syscall.SIGUSR1)
	h.eventually("the signal's sync", func() bool { return h.fine() == "third" })
	h.still(p)
}

func TestADrippingFileHoldsUpNoRollback(t *testing.T) {
	t.Parallel()
	h, p := dripping(t)
	h.provideFine("2026.11", "second")
	h.sync(0, "fine")
	h.expect(0, "rollback")
	same(h, "fine", "first", h.fine())
	h.still(p)
}

func TestADrippingFileHoldsUpNoRepair(t *testing.T) {
	t.Parallel()
	h, p := dripping(t)
	h.flip("fine/fine.dat")
	h.contains("verify", h.expect(0, "verify", "--repair").stdout, "fine/fine.dat")
	same(h, "fine", "first", h.fine())
	h.still(p)
}
