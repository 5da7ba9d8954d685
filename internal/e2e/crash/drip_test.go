package crash_test

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"syncd/internal/e2e"
	"syncd/internal/emulator"
)

// dripping is a running daemon that serves fine, and downloads every file of slow byte
// by byte.
func dripping(t *testing.T) (*e2e.Host, *e2e.Process) {
	t.Helper()
	h := e2e.NewHost(t, "fine", "slow")
	h.ConfigureWith("transfers: {publish_after: 1s}")
	provideFine(h, "2026.10", "first")
	var drops []emulator.File
	for i := range 70 { // more small files than are downloaded at once, and more large ones than transfers.files
		drops = append(drops, emulator.File{Name: fmt.Sprintf("%02d.drip", i), Content: emulator.Text(fmt.Sprint("comes byte by byte: ", i))})
	}
	for i := range uint64(5) {
		drops = append(drops, emulator.File{Name: fmt.Sprintf("large%d.drip", i), Content: emulator.Random(i, 2<<20)})
	}
	h.Provider.SetManifest("slow", "2026.10", drops...)
	h.Provider.AddFault(emulator.Fault{Kind: emulator.KindSlow, Rate: 1, Host: emulator.HostDownload, Path: "*.drip"})
	p := h.Daemon()
	h.Eventually("fine is served", func() bool { return h.Current() == "generations/000001" })
	e2e.Same(h, "fine", "first", fine(h))
	h.Eventually("the status says so", func() bool {
		s := h.Status()
		return s.Manifests[0].State == "in_sync" && s.Manifests[1].State == "syncing"
	})
	return h, p
}

func provideFine(h *e2e.Host, release, content string) {
	h.Provider.SetManifest("fine", release, emulator.File{Name: "fine.dat", Content: emulator.Text(content)})
}

// fine is what readers see of the manifest fine.
func fine(h *e2e.Host) string {
	data, _ := os.ReadFile(filepath.Join(h.Data, "current", "fine", "fine.dat"))
	return string(data)
}

// still requires that slow's sync goes on, and that a signal ends the daemon all the same.
func still(h *e2e.Host, p *e2e.Process) {
	h.Helper()
	e2e.Same(h, "state of slow", "syncing", h.Status().Manifests[1].State)
	p.Terminate()
}

func TestADrippingFileHoldsUpNoOtherRelease(t *testing.T) {
	t.Parallel()
	h, p := dripping(t)
	still(h, p)
	h.Provider.ClearFaults()
	h.Sync(0)
	e2e.Same(h, "files of slow", 75, len(h.Published("slow")))
}

func TestADrippingFileHoldsUpNoSyncOfAnotherManifest(t *testing.T) {
	t.Parallel()
	h, p := dripping(t)
	provideFine(h, "2026.11", "second")
	e2e.Same(h, "sync", "updated", h.Sync(0, "fine").Manifests[0].Result)
	provideFine(h, "2026.12", "third")
	p.Signal(syscall.SIGUSR1)
	h.Eventually("the signal's sync", func() bool { return fine(h) == "third" })
	still(h, p)
}

func TestADrippingFileHoldsUpNoRollback(t *testing.T) {
	t.Parallel()
	h, p := dripping(t)
	provideFine(h, "2026.11", "second")
	h.Sync(0, "fine")
	h.Expect(0, "rollback")
	e2e.Same(h, "fine", "first", fine(h))
	still(h, p)
}

func TestADrippingFileHoldsUpNoRepair(t *testing.T) {
	t.Parallel()
	h, p := dripping(t)
	h.Flip("fine/fine.dat")
	h.Contains("verify", h.Expect(0, "verify", "--repair").Stdout, "fine/fine.dat")
	e2e.Same(h, "fine", "first", fine(h))
	still(h, p)
}
