package fetcher

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"syncd/internal/emulator"
	"syncd/internal/manifest"
	"syncd/internal/verify"
)

// swappingWatcher replaces the open partial file by another one, once `at` bytes are
// present.
type swappingWatcher struct {
	watcher
	t    *testing.T
	path string
	with string
	at   int64
	once sync.Once
}

func (s *swappingWatcher) Moved(bytes, done int64) error {
	if done == s.at {
		s.once.Do(s.swap)
	}
	return s.watcher.Moved(bytes, done)
}

func (s *swappingWatcher) swap() {
	s.t.Helper()
	other, err := os.OpenFile(s.with, os.O_RDWR, 0)
	must(s.t, err)
	defer other.Close()
	open, err := filepath.Glob("/proc/self/fd/*")
	must(s.t, err)
	for _, link := range open {
		target, err := os.Readlink(link)
		if err != nil || target != s.path {
			continue
		}
		fd, err := strconv.Atoi(filepath.Base(link))
		must(s.t, err)
		must(s.t, unix.Dup3(int(other.Fd()), fd, unix.O_CLOEXEC))
		return
	}
	s.t.Fatalf("%s is not open", s.path)
}

// fetchInto fetches into a failing disk: once `at` bytes are present, writes and syncs
// go to the file other.
func (b *fixture) fetchInto(other string, at int64) (verify.Proven, error) {
	b.t.Helper()
	w := &swappingWatcher{t: b.t.(*testing.T), path: b.path(), with: other, at: at}
	return New(connect(b.t, b.URL(), patient, time.Minute), open(b.t, b.dir), Config{KeepCache: true}).Fetch(b.t.Context(), b.file, -1, w)
}

// A FIFO refuses fsync. As after a failed fsync of a disk, the bytes written before can
// still be read and look right.
func TestFileIsRemovedAfterFailedFsync(t *testing.T) {
	for _, algorithm := range []manifest.Algorithm{manifest.SHA256, manifest.MD5} {
		b := newFixture(t, emulator.Random(2, 2*mib), algorithm)
		if _, err := b.fetchInto(fifo(t), 2*mib); !errors.Is(err, syscall.EINVAL) {
			t.Errorf("%s: got %v", algorithm, err)
		}
		if names := fileNames(t, b.dir); len(names) != 0 {
			t.Errorf("%s: leftover files %v", algorithm, names)
		}
		b.ResetRequests()
		got, _, err := b.fetch(patient, time.Minute)
		b.wantProven(got, err)
		b.wantRanges("")
	}
}

func fifo(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fifo")
	must(t, unix.Mkfifo(path, 0o600))
	return path
}

func TestUnusablePartialFilesAreReplaced(t *testing.T) {
	folder := func(path string) error { return os.MkdirAll(filepath.Join(path, "within", "it"), 0o700) }
	pipe := func(path string) error { return unix.Mkfifo(path, 0o600) }
	socket := func(path string) error {
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return unix.Bind(fd, &unix.SockaddrUnix{Name: path})
	}
	to := func(target string) func(string) error {
		return func(path string) error { return os.Symlink(target, path) }
	}
	tests := map[string]struct {
		make   func(path string) error
		suffix string
	}{
		"folder":                      {folder, ""},
		"FIFO":                        {pipe, ""},
		"socket":                      {socket, ""},
		"dangling link":               {to("nowhere"), ""},
		"link to a folder":            {to("/"), ""},
		"link to a device":            {to("/dev/full"), ""},
		"folder as its validator":     {folder, validatorSuffix},
		"FIFO as its validator":       {pipe, validatorSuffix},
		"link to itself as validator": {to("x" + validatorSuffix), validatorSuffix},
		"endless device as validator": {to("/dev/zero"), validatorSuffix},
		"a validator of a gibibyte":   {func(path string) error { return errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, 1<<30)) }, validatorSuffix},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b := newFixture(t, emulator.Random(2, 2*mib), manifest.SHA256)
			t.Chdir(b.dir) // the path of a socket must be short
			must(t, tt.make("x"))
			must(t, os.Rename("x", b.path()+tt.suffix))
			got, _, err := b.fetch(patient, time.Minute)
			b.wantProven(got, err)
			b.wantRanges("")
			if names := fileNames(t, b.dir); len(names) != 1 {
				t.Errorf("leftover files %v", names)
			}
		})
	}
}

func TestTooManyOpenFilesRemoveNothing(t *testing.T) {
	dir := t.TempDir()
	file := fileOf(t, []byte("whole"))
	path := filepath.Join(dir, Name(file.Expected))
	must(t, os.WriteFile(path, []byte("who"), 0o600))
	folder := open(t, dir)
	var limit unix.Rlimit
	must(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &limit))
	none := unix.Rlimit{Cur: 0, Max: limit.Max}
	must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &none))
	_, err := New(nil, folder, Config{}).openPartial(t.Context(), file.Expected, false)
	must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &limit))
	if !errors.Is(err, syscall.EMFILE) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}

// The owner of a published file could write into it.
func TestAFileOfAnotherUserIsNoUnfinishedDownload(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("NOT TESTED: this needs root")
	}
	b := newFixture(t, emulator.Random(2, 2*mib), manifest.SHA256)
	must(t, os.WriteFile(b.path(), readAll(t, b.content), 0o666))
	must(t, os.Chown(b.path(), 23456, 23456))
	got, _, err := b.fetch(patient, time.Minute)
	b.wantProven(got, err)
	info, err := os.Stat(b.path())
	must(t, err)
	if owner := info.Sys().(*syscall.Stat_t).Uid; owner != 0 {
		t.Errorf("the proven file belongs to user %d", owner)
	}
}
