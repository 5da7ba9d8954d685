package changes

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"syncd/internal/disk/fsops"
)

// The owner of a folder can exchange a file for a FIFO after it was listed.
func TestAFIFOInThePlaceOfAFileIsAnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	folder, err := ReadFolder(context.Background(), filepath.Dir(path))
	if err != nil || len(folder.Files) != 1 {
		t.Fatal(folder, err)
	}
	if err := errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := folder.Open("file"); !errors.Is(err, fsops.ErrNotRegular) {
		t.Errorf("it is opened: %v", err)
	}
	if _, _, err := digest(context.Background(), path); !errors.Is(err, fsops.ErrNotRegular) {
		t.Errorf("it is read: %v", err)
	}
}
