package mirror

import (
	"errors"
	"io/fs"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"syncd/internal/manifest"
	"syncd/internal/verify"
)

// A FIFO refuses fsync, as a failing disk does.
func TestAdoptRefusesBytesThatCannotBeSynced(t *testing.T) {
	m := newMirror(t)
	object := manifest.Object{ID: sumOf("a"), Size: 1}
	name := "sha256-" + object.ID.String()
	path := m.path("partial", name)
	must(t, unix.Mkfifo(path, 0o600))
	held, err := os.OpenFile(path, os.O_RDWR, 0) // else to open it for reading would wait
	must(t, err)
	defer held.Close()
	if err := m.Objects.Adopt(verify.Proven{Name: name, Object: object}); !errors.Is(err, unix.EINVAL) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it stayed: %v", err)
	}
	if _, found := m.Objects.Find(object.ID); found {
		t.Error("it is an object")
	}
}
