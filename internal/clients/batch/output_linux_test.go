package batch

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// `--out /dev/stdout` in a pipeline is a FIFO behind a link.
func TestNoFIFOHoldsUpABatch(t *testing.T) {
	j := newJob(t, "key\n1\n")
	path := filepath.Join(j.dir, j.output)
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	j.refused("name another output")
	if err := os.Rename(path, path+".fifo"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(path+".fifo", path); err != nil {
		t.Fatal(err)
	}
	j.refused("name another output")
}
