package durable

import (
	"context"
	"io/fs"
	"os"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"syncd/internal/disk/fsops"
)

const (
	// minSyncfs is the number of files from which one syncfs is cheaper than an
	// fsync of each.
	minSyncfs = 256
	// dirtyPerFile is the number of dirty bytes that a disk writes in the time of one
	// fsync. syncfs also waits for the dirty bytes of all other processes.
	dirtyPerFile = 256 << 10
	// concurrency is the number of fsyncs at once: the file system commits its
	// journal once for all that wait together.
	concurrency = 16
)

// SyncFiles makes the bytes and permissions of closed files durable. They must be on
// the file system of dir. After an error any of them may have lost bytes, see SyncFile.
func (d *Disk) SyncFiles(dir *fsops.Dir, names []string) error {
	return d.syncFiles(dir, names, false)
}

// SyncNewFiles is SyncFiles for files of which each byte was written since dir was opened. It
// makes no system call for each of many files.
func (d *Disk) SyncNewFiles(dir *fsops.Dir, names []string) error {
	return d.syncFiles(dir, names, true)
}

func (d *Disk) syncFiles(dir *fsops.Dir, names []string, areNew bool) error {
	if !prefersSyncfs(dir, names) {
		return syncEach(names, func(name string) error { return withFile(dir, name, SyncFile) })
	}
	refusedBefore, err := d.syncFileSystem(dir)
	if err != nil || areNew && !refusedBefore {
		return err
	}
	for _, name := range names {
		if err := dir.Use(name, checkWritten); err != nil {
			return &fs.PathError{Op: "write", Path: dir.Path(name), Err: err}
		}
	}
	return nil
}

// SyncDirs makes the entries of directories durable. They must be on the file system
// of dir.
func (d *Disk) SyncDirs(dir *fsops.Dir, names []string) error {
	if prefersSyncfs(dir, names) {
		_, err := d.syncFileSystem(dir)
		return err
	}
	return syncEach(names, func(name string) error { return d.SyncDir(dir, name) })
}

// prefersSyncfs is true when one syncfs is safe and cheaper than an fsync of each.
func prefersSyncfs(dir *fsops.Dir, names []string) bool {
	return len(names) >= minSyncfs && HasReliableSyncfs(dir) && isWorthSyncfs(len(names), dirtyBytes())
}

func isWorthSyncfs(files int, dirty int64) bool { return dirty < int64(files)*dirtyPerFile }

// syncEach syncs several at once and stops after an error. A few are fast one by one,
// and tests of crashes need a fixed order.
func syncEach(names []string, syncOne func(name string) error) error {
	workers := concurrency
	if len(names) < concurrency {
		workers = 1
	}
	var next atomic.Int64
	group, ctx := errgroup.WithContext(context.Background())
	for range workers {
		group.Go(func() error {
			for i := next.Add(1) - 1; i < int64(len(names)) && ctx.Err() == nil; i = next.Add(1) - 1 {
				if err := syncOne(names[i]); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

func withFile(dir *fsops.Dir, name string, do func(*os.File) error) error {
	f, err := openToSync(dir, name)
	if err != nil {
		return err
	}
	defer f.Close()
	return do(f)
}
