package durable

import "syncd/internal/disk/fsops"

// SyncAll makes everything on the file system of dir durable.
func (d *Disk) SyncAll(dir *fsops.Dir) error {
	_, err := d.syncFileSystem(dir)
	return err
}

// syncFileSystem also tells whether an earlier call has failed. The kernel tells each open
// directory of a failed write once, whoever else it told. So nil means that the disk refused
// nothing since dir was opened, unless an earlier call for the same directory was told.
func (d *Disk) syncFileSystem(dir *fsops.Dir) (refusedBefore bool, err error) {
	d.syncing.Lock()
	defer d.syncing.Unlock()
	refusedBefore = d.refused
	err = fsops.Step("syncfs", dir.Path(), func() error { return syncfs(dir.Self()) })
	d.refused = d.refused || err != nil
	return refusedBefore, err
}
