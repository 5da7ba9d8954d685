package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// reader is one entry of `readers --json`.
type reader struct {
	PID                                  int
	Command, Manifest, Release, Revision string
	Served                               bool
	Open, Mapped                         int
	Files                                []string
}

// readersOf returns the entries of one process.
func (h *host) readersOf(pid int) (found []reader) {
	h.Helper()
	var out struct{ Readers []reader }
	h.must(json.Unmarshal([]byte(h.expect(0, "readers", "--json").stdout), &out))
	for _, r := range out.Readers {
		if r.PID == pid {
			found = append(found, r)
		}
	}
	return found
}

// holder is a process that has a file open as its standard input.
func (h *host) holder(path string) int {
	h.Helper()
	f, err := os.Open(path)
	h.must(err)
	defer f.Close()
	cmd := exec.Command("sleep", "600")
	cmd.Stdin = f
	h.must(cmd.Start())
	h.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd.Process.Pid
}

func TestReadersNamesProcessesWithTheirRevisions(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.settings.more = "retain: 0\nretain_for: 0s"
	h.configure()
	h.contains("without a mirror", h.expect(1, "readers").stderr, "does not exist: run `syncd sync`")
	first := h.sync(0).Manifests[0]
	path := filepath.Join(h.data, "current", "dq_addr_data", "ews.txt")
	pid := h.holder(path)
	h.must(os.Link(path, h.path("elsewhere"))) // as an export, or a container's mount
	other := h.holder(h.path("elsewhere"))

	want := reader{pid, "sleep", "dq_addr_data", first.Release, first.Revision, true, 1, 0, []string{"ews.txt"}}
	same(h, "reader", []reader{want}, h.readersOf(pid))
	want.PID = other
	same(h, "reader by another path", []reader{want}, h.readersOf(other))
	h.contains("table", h.expect(0, "readers").stdout, "sleep", first.Release+"-"+first.Revision, "ews.txt")

	h.provider.AdvanceSample()
	h.sync(0)
	want.PID, want.Served = pid, false
	same(h, "reader of a pruned revision", []reader{want}, h.readersOf(pid))
}

func TestReadersSeesMappedFiles(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.sync(0)
	f, err := os.Open(filepath.Join(h.data, "current", "dq_addr_data", "ews.txt"))
	h.must(err)
	mapped, err := unix.Mmap(int(f.Fd()), 0, 1, unix.PROT_READ, unix.MAP_PRIVATE)
	h.must(err)
	defer unix.Munmap(mapped)
	h.must(f.Close())
	found := h.readersOf(os.Getpid())
	same(h, "mapped", []any{1, 1, 0}, []any{len(found), found[0].Mapped, found[0].Open})
}

func TestReadersSaysWhatItCouldNotSee(t *testing.T) {
	t.Parallel()
	h := asRoot(t)
	h.binary = copyBinary(h)
	h.sync(0)
	h.holder(filepath.Join(h.data, "current", "dq_addr_data", "ews.txt"))
	h.must(os.Chmod(h.path("id"), 0o644))
	h.as = &syscall.Credential{Uid: otherUID, Gid: otherGID}
	out := h.expect(0, "readers")
	h.contains("stderr", out.stderr, "could not be seen: run this as root", "not run as root")
}
