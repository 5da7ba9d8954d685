package main

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// victim is a folder with a private file, which no syncd may change.
func (h *host) victim() (dir string, check func()) {
	h.Helper()
	dir = h.path("victim")
	h.must(os.MkdirAll(filepath.Join(dir, "ab"), 0o711))
	h.must(os.WriteFile(filepath.Join(dir, "ab", "file"), []byte("content"), 0o640))
	before := tree(h.T, dir)
	return dir, func() {
		h.Helper()
		same(h, "the victim", before, tree(h.T, dir))
	}
}

func TestPlantedLinksChangeNothingElsewhere(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.sync(0)
	h.provider.AdvanceSample() // otherwise a sync would have nothing to do
	victim, check := h.victim()
	for _, name := range []string{"partial", "revisions", "objects", "generations", "state", "state/records", "objects/00", "revisions/planted"} {
		path := filepath.Join(h.data, name)
		moved := os.Rename(path, path+".away") == nil
		h.must(os.Symlink(victim, path))
		for _, command := range []string{"sync", "run", "rollback"} {
			h.contains(command+" with "+name, h.expect(1, command).stderr, path+" is a symlink", "remove it")
		}
		check()
		h.must(os.Remove(path))
		if moved {
			h.must(os.Rename(path+".away", path))
		}
	}
	h.must(os.Remove(filepath.Join(h.data, "state", "lock")))
	h.must(os.Symlink(filepath.Join(victim, "ab", "file"), filepath.Join(h.data, "state", "lock")))
	h.contains("sync with a lock", h.expect(1, "sync").stderr, "state/lock is not a regular file", "remove it")
	check()
	h.must(os.Remove(filepath.Join(h.data, "state", "lock")))
	h.sync(0)
	h.proven()
}

func TestStatusRefusesPlantedLinks(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.sync(0)
	victim, check := h.victim()
	path := filepath.Join(h.data, "generations")
	h.must(os.Rename(path, path+".away"))
	h.must(os.Symlink(victim, path))
	for _, command := range []string{"status", "history", "verify"} {
		h.contains(command, h.expect(1, command).stderr, path+" is a symlink")
	}
	check()
}

func TestSomebodyElsesFolderIsNotEmptied(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	for _, name := range []string{"HEAD", "objects/ab/cdef", "refs/heads/main"} {
		path := filepath.Join(h.data, name)
		h.must(os.MkdirAll(filepath.Dir(path), 0o755))
		h.must(os.WriteFile(path, []byte("x"), 0o644))
	}
	before := tree(t, h.data)
	for _, command := range []string{"sync", "run"} {
		h.contains(command, h.expect(1, command).stderr, h.data, "holds", "HEAD", "choose an empty folder")
	}
	same(h, "the folder", before, tree(t, h.data))
}

func TestDataDirThatOthersCanWriteIsRefused(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.sync(0)
	h.must(os.Chmod(h.data, 0o777|os.ModeSticky))
	for _, command := range []string{"sync", "run", "status"} {
		h.contains(command, h.expect(1, command).stderr, "every user can write in "+h.data, "chmod")
	}
	h.must(os.Chmod(h.data, 0o755))
	h.sync(0)
}

// The daemon holds its data directory: a path that leads elsewhere does no harm.
func TestReplacedDataDirOfARunningDaemonIsLeftAlone(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	p := h.daemon()
	p.logged("sync")
	victim, check := h.victim()
	h.must(os.Rename(h.data, h.data+".away"))
	h.must(os.Symlink(victim, h.data))
	h.provider.AdvanceSample()
	p.signal(syscall.SIGUSR1)
	p.loggedTimes("sync", 2)
	check()
	h.must(os.Remove(h.data))
	h.must(os.Rename(h.data+".away", h.data))
	p.terminate()
}

func TestLinksDeepInTheDataDirAreReplaced(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.sync(0)
	victim, check := h.victim()
	object := h.published("dq_addr_data")["ews.txt"]
	for path, mend := range map[string]func(){
		filepath.Join(h.data, "objects", object[:2], object): func() {
			h.flip("dq_addr_data/ews.txt")
			h.expect(0, "verify", "--repair")
		},
		filepath.Join(h.data, "generations", "000009"): func() { h.sync(0) },
		h.inRevision("dq_addr_data"):                   func() { h.sync(0) },
	} {
		h.must(os.RemoveAll(path))
		h.must(os.Symlink(victim, path))
		mend()
		info, err := os.Lstat(path)
		if err == nil && info.Mode().Type() == os.ModeSymlink {
			t.Errorf("%s is still a symlink", path)
		}
		check()
		h.proven()
	}
}
