package sync_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"syncd/internal/e2e"
)

// victim is a folder with a private file, which no syncd may change.
func victim(h *e2e.Host) (dir string, check func()) {
	h.Helper()
	dir = h.Path("victim")
	h.Must(os.MkdirAll(filepath.Join(dir, "ab"), 0o711))
	h.Must(os.WriteFile(filepath.Join(dir, "ab", "file"), []byte("content"), 0o640))
	before := tree(h.T, dir)
	return dir, func() {
		h.Helper()
		e2e.Same(h, "the victim", before, tree(h.T, dir))
	}
}

func TestPlantedLinksChangeNothingElsewhere(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	h.Sync(0)
	h.Provider.AdvanceSample() // otherwise a sync would have nothing to do
	victim, check := victim(h)
	for _, name := range []string{"partial", "revisions", "objects", "generations", "state", "state/records", "objects/00", "revisions/planted"} {
		path := filepath.Join(h.Data, name)
		moved := os.Rename(path, path+".away") == nil
		h.Must(os.Symlink(victim, path))
		for _, command := range []string{"sync", "run", "rollback"} {
			h.Contains(command+" with "+name, h.Expect(1, command).Stderr, path+" is a symlink", "remove it")
		}
		check()
		h.Must(os.Remove(path))
		if moved {
			h.Must(os.Rename(path+".away", path))
		}
	}
	h.Must(os.Remove(filepath.Join(h.Data, "state", "lock")))
	h.Must(os.Symlink(filepath.Join(victim, "ab", "file"), filepath.Join(h.Data, "state", "lock")))
	h.Contains("sync with a lock", h.Expect(1, "sync").Stderr, "state/lock is not a regular file", "remove it")
	check()
	h.Must(os.Remove(filepath.Join(h.Data, "state", "lock")))
	h.Sync(0)
	h.Proven()
}

func TestStatusRefusesPlantedLinks(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	h.Sync(0)
	victim, check := victim(h)
	path := filepath.Join(h.Data, "generations")
	h.Must(os.Rename(path, path+".away"))
	h.Must(os.Symlink(victim, path))
	for _, command := range []string{"status", "history", "verify"} {
		h.Contains(command, h.Expect(1, command).Stderr, path+" is a symlink")
	}
	check()
}

func TestSomebodyElsesFolderIsNotEmptied(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	for _, name := range []string{"HEAD", "objects/ab/cdef", "refs/heads/main"} {
		path := filepath.Join(h.Data, name)
		h.Must(os.MkdirAll(filepath.Dir(path), 0o755))
		h.Must(os.WriteFile(path, []byte("x"), 0o644))
	}
	before := tree(t, h.Data)
	for _, command := range []string{"sync", "run"} {
		h.Contains(command, h.Expect(1, command).Stderr, h.Data, "holds", "HEAD", "choose an empty folder")
	}
	e2e.Same(h, "the folder", before, tree(t, h.Data))
}

func TestDataDirThatOthersCanWriteIsRefused(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	h.Sync(0)
	h.Must(os.Chmod(h.Data, 0o777|os.ModeSticky))
	for _, command := range []string{"sync", "run", "status"} {
		h.Contains(command, h.Expect(1, command).Stderr, "every user can write in "+h.Data, "chmod")
	}
	h.Must(os.Chmod(h.Data, 0o755))
	h.Sync(0)
}

// The daemon holds its data directory: a path that leads elsewhere does no harm.
func TestReplacedDataDirOfARunningDaemonIsLeftAlone(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	p := h.SyncedDaemon()
	victim, check := victim(h)
	h.Must(os.Rename(h.Data, h.Data+".away"))
	h.Must(os.Symlink(victim, h.Data))
	h.Provider.AdvanceSample()
	p.Signal(syscall.SIGUSR1)
	p.LoggedTimes("sync", 2)
	check()
	h.Must(os.Remove(h.Data))
	h.Must(os.Rename(h.Data+".away", h.Data))
	p.Terminate()
}

func TestLinksDeepInTheDataDirAreReplaced(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	h.Sync(0)
	victim, check := victim(h)
	object := h.Published("dq_addr_data")["ews.txt"]
	for path, mend := range map[string]func(){
		filepath.Join(h.Data, "objects", object[:2], object): func() {
			h.Flip("dq_addr_data/ews.txt")
			h.Expect(0, "verify", "--repair")
		},
		filepath.Join(h.Data, "generations", "000009"): func() { h.Sync(0) },
		h.InRevision("dq_addr_data"):                   func() { h.Sync(0) },
	} {
		h.Must(os.RemoveAll(path))
		h.Must(os.Symlink(victim, path))
		mend()
		info, err := os.Lstat(path)
		if err == nil && info.Mode().Type() == os.ModeSymlink {
			t.Errorf("%s is still a symlink", path)
		}
		check()
		h.Proven()
	}
}
