package store

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// instead puts another file in the place of an open store's, so that the store gets
// its errors, until restore is called.
func instead(t *testing.T, path, other string, flags int) (restore func()) {
	t.Helper()
	fd := descriptor(t, path)
	kept, err := unix.Dup(fd)
	must(t, err)
	file, err := os.OpenFile(other, flags, 0)
	must(t, err)
	defer file.Close()
	swap := func(from int) {
		must(t, unix.Dup3(from, fd, unix.O_CLOEXEC))
	}
	swap(int(file.Fd()))
	return func() {
		swap(kept)
		unix.Close(kept)
	}
}

// descriptor returns this process's file descriptor of an open file.
func descriptor(t *testing.T, path string) int {
	t.Helper()
	fds, err := filepath.Glob("/proc/self/fd/*")
	must(t, err)
	for _, name := range fds {
		if target, _ := os.Readlink(name); target == path {
			var fd int
			if _, err := fmt.Sscan(filepath.Base(name), &fd); err != nil {
				t.Fatal(err)
			}
			return fd
		}
	}
	t.Fatalf("%s is not open", path)
	return 0
}

func entry(n int) Changes { return Changes{History: n} }

func TestNothingIsWrittenAfterADiskError(t *testing.T) {
	path := newPath(t)
	s := mustOpen(t, path)
	fill(t, s)
	want := read(t, s)
	restore := instead(t, path, path, os.O_RDONLY)
	err := s.Commit(entry(1))
	if !errors.Is(err, syscall.EBADF) || !strings.HasPrefix(err.Error(), "state not written: restart syncd: ") {
		t.Errorf("first commit: %v", err)
	}
	restore()
	before, _ := os.ReadFile(path)
	for name, err := range map[string]error{"a commit": s.Commit(entry(2)), "a cool-down": s.SetCoolDown("https://a.example.net", time.Now())} {
		if !errors.Is(err, syscall.EBADF) || !strings.HasPrefix(err.Error(), "state not written: restart syncd: ") {
			t.Errorf("%s: got %v, want EBADF and the advice to restart", name, err)
		}
	}
	if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
		t.Error("the file changed")
	}
	if diff := cmp.Diff(want, read(t, s)); diff != "" {
		t.Errorf("the content changed: %s", diff)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	again := mustOpen(t, path)
	same(t, want, read(t, again))
	if err := again.Commit(entry(3)); err != nil {
		t.Error(err)
	}
}

func TestWritesAreRetriedAfterAFullDisk(t *testing.T) {
	path := newPath(t)
	s := mustOpen(t, path)
	fill(t, s)
	restore := instead(t, path, "/dev/full", os.O_RDWR)
	for range 2 {
		if err := s.Commit(entry(1)); !errors.Is(err, syscall.ENOSPC) || strings.Contains(err.Error(), "restart") {
			t.Errorf("got %v, want ENOSPC without the advice to restart", err)
		}
	}
	restore()
	for i := range 20 {
		must(t, s.Commit(entry(i)))
	}
	if err := s.check(); err != nil {
		t.Error(err)
	}
	want := read(t, s)
	s.Close()
	same(t, want, read(t, mustOpen(t, path)))
}

func TestChangeThatCannotBeEncodedIsNoDiskError(t *testing.T) {
	s := mustOpen(t, newPath(t))
	if err := s.Commit(Changes{History: func() {}}); err == nil { // has no JSON
		t.Error("no error")
	}
	if err := s.Commit(entry(1)); err != nil {
		t.Error(err)
	}
}

func TestJitterIsUsedEvenIfItCannotBeKept(t *testing.T) {
	path := newPath(t)
	s := mustOpen(t, path)
	restore := instead(t, path, "/dev/full", os.O_RDWR)
	if share, err := s.Jitter(func() float64 { return 0.75 }); share != 0.75 || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("with a full disk: got jitter %v, %v", share, err)
	}
	restore()
	if share, err := s.Jitter(func() float64 { return 0.5 }); share != 0.5 || err != nil {
		t.Errorf("after the full disk: got jitter %v, %v", share, err)
	}
	defer instead(t, path, "/dev/full", os.O_RDWR)()
	if share, err := s.Jitter(func() float64 { return 0.25 }); share != 0.5 || err != nil {
		t.Errorf("a kept jitter needs no write: %v, %v", share, err)
	}
}

func TestDamageToAnOpenFileDoesNotEndTheProcess(t *testing.T) {
	rows := map[string]func(path string) error{
		"truncated": func(path string) error { return os.Truncate(path, 0) },
		"truncated behind its meta pages": func(path string) error {
			return os.Truncate(path, int64(2*os.Getpagesize()))
		},
		"all but its meta pages overwritten": func(path string) error {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			defer f.Close()
			from := 2 * os.Getpagesize()
			_, err = f.WriteAt(bytes.Repeat([]byte{0xff}, len(data)-from), int64(from))
			return err
		},
	}
	for name, damage := range rows {
		t.Run(name, func(t *testing.T) {
			path := newPath(t)
			s := mustOpen(t, path)
			fill(t, s)
			must(t, damage(path))
			for range 2 {
				if err := s.Commit(entry(1)); err == nil {
					t.Error("written")
				}
				if _, err := contentOf(s); err == nil {
					t.Error("read")
				}
			}
			if err := s.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		})
	}
}
