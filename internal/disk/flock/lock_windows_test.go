package flock

import (
	"errors"
	"os"
	"testing"

	"syncd/internal/disk/fsops"
)

func TestASecondLockIsRefusedUntilTheFirstIsReleased(t *testing.T) {
	path, err := os.MkdirTemp("", "lockfile-") // Wine cannot remove it as t.TempDir does
	if err != nil {
		t.Fatal(err)
	}
	dir, err := fsops.OpenDir(path)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	first, err := Acquire(dir, "lock")
	if err != nil {
		t.Fatal(err)
	}
	var held *HeldError
	if _, err := Acquire(dir, "lock"); !errors.As(err, &held) || held.PID != os.Getpid() {
		t.Errorf("a second lock: %v", err)
	}
	if err := errors.Join(first.Check(), first.Release()); err != nil {
		t.Error(err)
	}
	second, err := Acquire(dir, "lock")
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Release(); err != nil {
		t.Error(err)
	}
}
