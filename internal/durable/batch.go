package durable

import (
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"
)

const (
	// minSyncfs is the number of files from which one syncfs is cheaper than an
	// fsync of each.
	minSyncfs = 256
	// maxDirty is the number of dirty bytes, of all processes, from which syncfs
	// would wait too long for files that are not ours.
	maxDirty = 64 << 20
	// concurrency is the number of fsyncs at once: the file system commits its
	// journal once for all that wait together.
	concurrency = 16
)

// SyncFiles makes the bytes and permissions of closed files durable. They must be on
// one file system. After an error any of them may have lost bytes, see SyncFile.
func (d *Disk) SyncFiles(paths []string) error {
	if !prefersSyncfs(paths) {
		return syncEach(paths, func(path string) error { return withFile(path, SyncFile) })
	}
	if err := syncFileSystem(filepath.Dir(paths[0])); err != nil {
		return err
	}
	for _, path := range paths {
		if err := withFile(path, checkWritten); err != nil {
			return err
		}
	}
	return nil
}

// SyncDirs makes the entries of directories durable. They must be on one file
// system.
func (d *Disk) SyncDirs(dirs []string) error {
	if prefersSyncfs(dirs) {
		return syncFileSystem(filepath.Dir(dirs[0]))
	}
	return syncEach(dirs, d.SyncDir)
}

// prefersSyncfs is true when one syncfs is safe and cheaper than an fsync of each.
func prefersSyncfs(paths []string) bool {
	return len(paths) >= minSyncfs && hasReliableSyncfs(filepath.Dir(paths[0])) && dirtyBytes() < maxDirty
}

func syncEach(paths []string, syncOne func(path string) error) error {
	var group errgroup.Group
	if group.SetLimit(concurrency); len(paths) < concurrency {
		group.SetLimit(1) // a few are fast one by one, and tests of crashes need a fixed order
	}
	for _, path := range paths {
		group.Go(func() error { return syncOne(path) })
	}
	return group.Wait()
}

func withFile(path string, do func(*os.File) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return do(f)
}
