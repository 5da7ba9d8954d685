package adopt

import (
	"errors"
	"io"
	"os"
	"syscall"
	"testing"

	"syncd/internal/manifest"
	"syncd/internal/verify"
)

// Such a program waits for the lease, and could write into the file after its publication.
func TestAFileThatAProgramOpensForWritingMeanwhileIsNotMoved(t *testing.T) {
	b := newBench(t)
	err := b.folder.Move(t.Context(), b.candidate, b.into, manifest.SHA256, io.Discard, func(*verify.Hasher) string {
		if file, err := os.OpenFile(b.at(name), os.O_WRONLY|syscall.O_NONBLOCK, 0); !errors.Is(err, syscall.EWOULDBLOCK) {
			t.Errorf("no lease guards the file: %v", err)
			file.Close()
		}
		return "moved"
	})
	if err == nil {
		t.Error("it was moved")
	}
	if info, err := os.Stat(b.at(name)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("it is not back as it was: %v, %v", info, err)
	}
}

// Its owner could make it writable again after its publication.
func TestRootMovesNoFileOfAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("NOT TESTED: this needs root")
	}
	b := newBench(t)
	b.must(os.Chown(b.at(name), 23456, 23456))
	err := b.folder.Move(t.Context(), b.candidate, b.into, manifest.SHA256, io.Discard, func(*verify.Hasher) string { return "moved" })
	if !errors.Is(err, ErrNotMovable) {
		t.Error(err)
	}
	if b.folder.CanMove(b.candidate, b.into) {
		t.Error("it counts as movable")
	}
}
