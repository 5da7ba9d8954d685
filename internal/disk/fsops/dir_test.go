//go:build !windows

package fsops

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// planted is a directory with links that lead out of it, to a victim.
func planted(t *testing.T) (d *Dir, victim string) {
	t.Helper()
	victim = t.TempDir()
	write(t, filepath.Join(victim, "file"), "content")
	d = open(t, t.TempDir())
	for name, target := range map[string]string{"folder": victim, "link": filepath.Join(victim, "file"), "new": filepath.Join(victim, "none")} {
		must(t, os.Symlink(target, d.Path(name)))
	}
	return d, victim
}

func TestNoStepFollowsALinkOutOfTheDirectory(t *testing.T) {
	d, victim := planted(t)
	before, err := os.Stat(victim)
	must(t, err)
	create := func(name string) error {
		f, err := d.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
		if err == nil {
			f.Close()
		}
		return err
	}
	for name, step := range map[string]func() error{
		"create in it": func() error { return create("folder/made") }, "create": func() error { return create("new") }, "truncate": func() error { return create("link") },
		"mkdir": func() error { return d.EnsureDir("folder/sub", 0o755) }, "chmod": func() error { return d.Chmod("folder", 0o700) },
		"remove": func() error { return d.Remove("folder/file") }, "remove a tree": func() error { return d.RemoveAll("folder/file") },
		"rename into it": func() error { return d.Rename("link", "folder/moved") }, "symlink": func() error { return d.Symlink("x", "folder/x") },
		"times": func() error { return d.Chtimes("folder", time.Now().Add(time.Hour)) }, "sweep": func() error { return d.SweepTemps("folder") },
		"ensure": func() error { return d.EnsureDir("folder", 0o700) },
	} {
		if err := step(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	after, err := os.Stat(victim)
	if err != nil || after.Mode() != before.Mode() || !after.ModTime().Equal(before.ModTime()) || len(names(t, victim)) != 1 {
		t.Errorf("the victim changed: %v, %v, %q", after.Mode(), err, names(t, victim))
	}
	if err := errors.Join(d.RemoveAll("folder"), d.Remove("link")); err != nil {
		t.Error(err)
	}
	if data, _ := os.ReadFile(filepath.Join(victim, "file")); string(data) != "content" {
		t.Errorf("removing the links changed the victim: %q", data)
	}
}

func TestOpenDirRefusesALinkEvenWithinTheDirectory(t *testing.T) {
	d, _ := planted(t)
	must(t, errors.Join(d.EnsureDir("real", 0o755), d.Symlink("real", "alias")))
	for _, name := range []string{"alias", "folder", "link", "missing"} {
		if sub, err := d.OpenDir(name); err == nil {
			sub.Close()
			t.Errorf("%s was opened", name)
		}
	}
	sub, err := d.OpenDir("real")
	must(t, err)
	sub.Close()
}

func TestDirStaysTheSameWhenItsPathLeadsElsewhere(t *testing.T) {
	top, victim := t.TempDir(), t.TempDir()
	path := filepath.Join(top, "dir")
	must(t, os.Mkdir(path, 0o755))
	d := open(t, path)
	must(t, errors.Join(os.Rename(path, path+".away"), os.Symlink(victim, path)))
	must(t, errors.Join(d.CreateFile("file", 0o600, text("x")), d.EnsureDir("sub", 0o755), Move(d, "file", d, "sub/file")))
	if left := names(t, victim); len(left) != 0 {
		t.Errorf("made elsewhere: %q", left)
	}
	if _, err := os.Stat(path + ".away/sub/file"); err != nil {
		t.Error(err)
	}
}

func TestOpenRegularDoesNotWaitForAFIFO(t *testing.T) {
	d := open(t, t.TempDir())
	must(t, unix.Mkfifo(d.Path("fifo"), 0o600))
	if f, err := d.OpenRegular("fifo"); err == nil {
		f.Close()
		t.Error("a FIFO was opened")
	}
}

func TestAFolderWaitsForNoFIFOInItsPlace(t *testing.T) {
	top := t.TempDir()
	must(t, unix.Mkfifo(filepath.Join(top, "fifo"), 0o600))
	d := open(t, top)
	for name, opened := range map[string]func() (*Dir, error){
		"by its path": func() (*Dir, error) { return OpenDir(filepath.Join(top, "fifo")) },
		"in a folder": func() (*Dir, error) { return d.OpenDir("fifo") },
	} {
		if sub, err := opened(); !errors.Is(err, syscall.ENOTDIR) || sub != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if d.Path("x") != filepath.Join(top, "x") {
		t.Errorf("path %s", d.Path("x"))
	}
	if _, err := OpenDir(filepath.Join(top, "missing")); err == nil || strings.Contains(err.Error(), "missing/") {
		t.Errorf("%v", err)
	}
}

func TestNothingWaitsForAFIFOInTheMirror(t *testing.T) {
	d := open(t, t.TempDir())
	must(t, os.Mkdir(d.Path("sub"), 0o700))
	for _, name := range []string{"fifo", "sub/fifo"} {
		must(t, unix.Mkfifo(d.Path(name), 0o600))
		if f, err := d.Open(name); err == nil {
			f.Close()
		}
		if f, err := d.OpenToWrite(name, 0); err == nil {
			f.Close()
			t.Errorf("%s was opened for writing", name)
		}
		_ = d.Use(name, func(int) error { return nil })
	}
	from, err := d.Open("sub")
	must(t, err)
	defer from.Close()
	if err := copyBetween(from, "fifo", from, "copy"); err == nil {
		t.Error("a FIFO was copied")
	}
}

func TestAListVisitsAllAndWaitsForNoFIFO(t *testing.T) {
	d := open(t, t.TempDir())
	for i := range 2500 {
		write(t, d.Path("sub", strconv.Itoa(i)), "")
	}
	seen := map[string]bool{}
	err := d.EachEntry("sub", func(entry fs.DirEntry) error { seen[entry.Name()] = true; return nil })
	if err != nil || len(seen) != 2500 {
		t.Errorf("%d entries, %v", len(seen), err)
	}
	stop := errors.New("stop")
	if err := d.EachEntry("sub", func(fs.DirEntry) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("%v", err)
	}
	for _, name := range []string{"fifo", "sub/fifo"} {
		must(t, unix.Mkfifo(d.Path(name), 0o600))
		for list, read := range map[string]func(string) error{
			"Names":   func(name string) error { _, err := d.Names(name); return err },
			"ReadDir": func(name string) error { _, err := d.ReadDir(name); return err },
		} {
			if read(name) == nil {
				t.Errorf("%s lists %s", list, name)
			}
		}
		if err := d.EachEntry(name, func(fs.DirEntry) error { return nil }); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestMissingDirHasNothingToRead(t *testing.T) {
	var d *Dir
	_, open := d.Open("x")
	_, regular := d.OpenRegular("x")
	_, stat := d.Stat("x")
	_, lstat := d.Lstat("x")
	_, link := d.Readlink("x")
	_, list := d.Names(".")
	_, entries := d.ReadDir(".")
	_, info := d.Info("x")
	_, free := d.Statfs()
	for _, err := range []error{open, regular, stat, lstat, link, list, entries, info, free} {
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%v", err)
		}
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

func TestCloseBesideReadersIsSafe(t *testing.T) {
	for range 50 {
		d := open(t, t.TempDir())
		var readers sync.WaitGroup
		for range 4 {
			readers.Go(func() {
				for d.readable() {
				}
			})
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		readers.Wait()
	}
}

// readable is false after Close.
func (d *Dir) readable() bool {
	_, stat := d.Statfs()
	_, info := d.Info(".")
	return stat == nil && info == nil
}

func TestUseOpensAFileAndFollowsNoLink(t *testing.T) {
	d, _ := planted(t)
	write(t, d.Path("sub/file"), "in sub")
	write(t, d.Path("file"), "here")
	for name, want := range map[string]string{"file": "here", "sub/file": "in sub"} {
		got := make([]byte, 10)
		var n int
		err := d.Use(name, func(fd int) (err error) {
			n, err = unix.Read(fd, got)
			return err
		})
		if err != nil || string(got[:n]) != want {
			t.Errorf("%s: %q, %v", name, got[:n], err)
		}
	}
	for _, name := range []string{"link", "folder/file", "missing", ".."} {
		if err := d.Use(name, func(int) error { t.Errorf("%s was opened", name); return nil }); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
