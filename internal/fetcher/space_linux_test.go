package fetcher

import (
	"errors"
	"syscall"
	"testing"
	"time"

	"syncd/internal/emulator"
	"syncd/internal/manifest"
	"syncd/internal/manifest/refusal"
)

// smallDisk mounts a tmpfs, or skips the test if that is not allowed.
func smallDisk(t *testing.T, options string) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, options); err != nil {
		t.Skipf("NOT TESTED: a full disk needs a tmpfs of its own, which only root may mount here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func freeBytes(t *testing.T, dir string) uint64 {
	t.Helper()
	var s syscall.Statfs_t
	must(t, syscall.Statfs(dir, &s))
	return s.Bavail * uint64(s.Bsize)
}

func wantNoSpace(t *testing.T, err error) {
	t.Helper()
	assertNoID(t, err)
	if refusal.ReasonOf(err) != refusal.NoSpace || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("got %v", err)
	}
}

func TestFullDiskIsRefusedAndFreed(t *testing.T) {
	b := newFixture(t, emulator.Random(2, 4*mib), manifest.SHA256)
	b.dir = smallDisk(t, "size=2m")
	before := freeBytes(t, b.dir)
	_, _, err := b.fetch(patient, time.Minute)
	wantNoSpace(t, err)
	if names := fileNames(t, b.dir); len(names) != 0 || freeBytes(t, b.dir) != before {
		t.Errorf("leftover files %v, %d of %d bytes free", names, freeBytes(t, b.dir), before)
	}
	if n := len(b.downloads()); n != 1 {
		t.Errorf("%d downloads", n)
	}
	b.content = emulator.Random(3, mib)
	b.publish(b.content)
	b.file.Expected = digestOf(t, b.content, manifest.SHA256)
	got, _, err := b.fetch(patient, time.Minute)
	b.wantProven(got, err)
}

func TestDiskWithoutInodesIsRefused(t *testing.T) {
	for _, inodes := range []string{"nr_inodes=1", "nr_inodes=2"} { // room for the folder; for one file more, but no validator
		b := newFixture(t, emulator.Random(2, 2*mib), manifest.SHA256)
		b.dir = smallDisk(t, "size=8m,"+inodes)
		_, _, err := b.fetch(patient, time.Minute)
		wantNoSpace(t, err)
		if names := fileNames(t, b.dir); len(names) != 0 {
			t.Errorf("%s: leftover files %v", inodes, names)
		}
	}
}

// This test needs no mount: the partial file becomes /dev/full.
func TestWriteWithoutSpaceIsRefused(t *testing.T) {
	b := newFixture(t, emulator.Random(2, 2*mib), manifest.SHA256)
	_, err := b.fetchInto("/dev/full", 0)
	wantNoSpace(t, err)
	if names := fileNames(t, b.dir); len(names) != 0 {
		t.Errorf("leftover files %v", names)
	}
}
