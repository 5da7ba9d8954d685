package files_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"syncd/internal/e2e"
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
func readersOf(h *e2e.Host, pid int) (found []reader) {
	h.Helper()
	var out struct{ Readers []reader }
	h.Must(json.Unmarshal([]byte(h.Expect(0, "readers", "--json").Stdout), &out))
	for _, r := range out.Readers {
		if r.PID == pid {
			found = append(found, r)
		}
	}
	return found
}

// holder is a process that has a file open as its standard input.
func holder(h *e2e.Host, path string) int {
	h.Helper()
	// os.Open would ask the file system whether the file can be polled, in a call during which
	// the runtime cannot stop this thread. With newDeaf's server in this process, both would
	// wait for each other.
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	h.Must(err)
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	cmd := exec.Command("sleep", "600")
	cmd.Stdin = f
	h.Must(cmd.Start())
	h.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd.Process.Pid
}

func TestReadersNamesProcessesWithTheirRevisions(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	h.ConfigureWith("retain: 0\nretain_for: 0s")
	h.Contains("without a mirror", h.Expect(1, "readers").Stderr, "does not exist: run `syncd sync`")
	first := h.Sync(0).Manifests[0]
	path := filepath.Join(h.Data, "current", "dq_addr_data", "ews.txt")
	pid := holder(h, path)
	h.Must(os.Link(path, h.Path("elsewhere"))) // as an export, or a container's mount
	other := holder(h, h.Path("elsewhere"))

	want := reader{pid, "sleep", "dq_addr_data", first.Release, first.Revision, true, 1, 0, []string{"ews.txt"}}
	e2e.Same(h, "reader", []reader{want}, readersOf(h, pid))
	want.PID = other
	e2e.Same(h, "reader by another path", []reader{want}, readersOf(h, other))
	h.Contains("table", h.Expect(0, "readers").Stdout, "sleep", first.Release+"-"+first.Revision, "ews.txt")

	h.Provider.AdvanceSample()
	h.Sync(0)
	want.PID, want.Served = pid, false
	e2e.Same(h, "reader of a pruned revision", []reader{want}, readersOf(h, pid))
}

func TestReadersSeesMappedFiles(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	h.Sync(0)
	f, err := os.Open(filepath.Join(h.Data, "current", "dq_addr_data", "ews.txt"))
	h.Must(err)
	mapped, err := unix.Mmap(int(f.Fd()), 0, 1, unix.PROT_READ, unix.MAP_PRIVATE)
	h.Must(err)
	defer unix.Munmap(mapped)
	h.Must(f.Close())
	found := readersOf(h, os.Getpid())
	e2e.Same(h, "mapped", []any{1, 1, 0}, []any{len(found), found[0].Mapped, found[0].Open})
}

func TestReadersSaysWhatItCouldNotSee(t *testing.T) {
	t.Parallel()
	h := e2e.AsRoot(t)
	h.Binary = e2e.CopyBinary(h)
	h.Sync(0)
	holder(h, filepath.Join(h.Data, "current", "dq_addr_data", "ews.txt"))
	h.Must(os.Chmod(h.Path("id"), 0o644))
	h.As = &syscall.Credential{Uid: e2e.OtherUID, Gid: e2e.OtherGID}
	out := h.Expect(0, "readers")
	h.Contains("stderr", out.Stderr, "could not be seen: run this as root", "not run as root")
}

// Every user can make a mount namespace, with any folder at any path in it.
func TestReadersShowsNoPathThatAnotherUserInvented(t *testing.T) {
	t.Parallel()
	h := e2e.AsRoot(t)
	first := h.Sync(0).Manifests[0]
	revisions := filepath.Join(h.Data, "revisions")
	const release = "9999.99\u202e\x1b[31m-aaaaaaaaaaaa"
	invented := h.Path("invented", "dq_addr_data", release)
	h.Must(os.MkdirAll(invented, 0o755))
	h.Must(os.WriteFile(filepath.Join(invented, "ews.txt"), []byte("x"), 0o644))
	// The second process has the mounts of this one, and the file of the first.
	script := `mount --bind "$1" "$2" && exec 9<"$2/$3/ews.txt" && { nsenter --mount=/proc/$4/ns/mnt sleep 600 & sleep 600; }`
	cmd := exec.Command("unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh", h.Path("invented"), revisions, filepath.Join("dq_addr_data", release), strconv.Itoa(os.Getpid()))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	h.Must(cmd.Start())
	h.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
	})
	honest := holder(h, filepath.Join(h.Data, "current", "dq_addr_data", "ews.txt"))
	h.Eventually("two processes have the file", func() bool {
		count := 0
		links, err := filepath.Glob("/proc/[0-9]*/fd/9")
		h.Must(err)
		for _, link := range links {
			if target, _ := os.Readlink(link); filepath.Base(target) == "ews.txt" && filepath.Base(filepath.Dir(target)) == release {
				count++
			}
		}
		return count >= 3 // both sleeps and the shell
	})
	for _, args := range [][]string{{"readers"}, {"readers", "--json"}} {
		out := h.Expect(0, args...).Stdout
		h.Contains("readers", out, first.Revision)
		if strings.Contains(out, "9999.99") {
			t.Errorf("%v shows %q", args, out)
		}
	}
	e2e.Same(h, "readers of the mirror", 1, len(readersOf(h, honest)))
}

// A process chooses its name.
func TestReadersShowsNoControlCharacterOfAProcess(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	h.Sync(0)
	const name = "a\x1b[2J\n\u202e"
	program := h.Path(name)
	h.Must(os.Symlink("/bin/sleep", program))
	file, err := os.Open(filepath.Join(h.Data, "current", "dq_addr_data", "ews.txt"))
	h.Must(err)
	defer file.Close()
	cmd := exec.Command(program, "600")
	cmd.Stdin = file
	h.Must(cmd.Start())
	h.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	h.Contains("the table", h.Expect(0, "readers").Stdout, `a\u001b[2J\n\u202e`)
	out := h.Expect(0, "readers", "--json").Stdout
	if strings.ContainsAny(out, "\x1b\u202e") {
		t.Errorf("JSON: %q", out)
	}
	e2e.Same(h, "the name in JSON", name, readersOf(h, cmd.Process.Pid)[0].Command)
}
