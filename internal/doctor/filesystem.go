//go:build linux

package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"golang.org/x/sys/unix"

	"syncd/internal/disk/durable"
	"syncd/internal/disk/fsops"
)

// fileSystems are names of common file systems.
var fileSystems = map[int64]string{
	unix.EXT4_SUPER_MAGIC: "ext4", unix.XFS_SUPER_MAGIC: "xfs", unix.BTRFS_SUPER_MAGIC: "btrfs", unix.TMPFS_MAGIC: "tmpfs",
	unix.OVERLAYFS_SUPER_MAGIC: "overlay", unix.NFS_SUPER_MAGIC: "NFS", unix.SMB2_SUPER_MAGIC: "SMB", unix.MSDOS_SUPER_MAGIC: "FAT", unix.FUSE_SUPER_MAGIC: "FUSE",
}

// checkFileSystem tries what the mirror needs of the file system of data_dir.
func (d *disk) checkFileSystem(context.Context) (found []Finding) {
	path := existingParent(d.cfg.DataDir)
	err := d.worker.Do(func() error {
		dir, err := fsops.OpenDir(path)
		if err != nil {
			return err
		}
		defer dir.Close()
		found = d.lookAtFileSystem(dir, path == d.cfg.DataDir)
		return nil
	})
	if err != nil {
		return []Finding{d.forbidden("data_dir", path, cause(err), d.giveStep())}
	}
	return found
}

func (d *disk) lookAtFileSystem(dir *fsops.Dir, exists bool) (found []Finding) {
	st, err := dir.Statfs()
	if err != nil {
		return []Finding{failing(err, "check the mount with `findmnt`")}
	}
	kind, known := fileSystems[st.Type]
	if !known {
		kind = fmt.Sprintf("file system type %#x", st.Type)
	}
	switch kind {
	case "overlay":
		found = append(found, hint("mount a volume there", "data_dir lies in a container's own layer, which is lost with the container"))
	case "NFS", "SMB", "FUSE":
		found = append(found, hint("use a local disk if you can", "data_dir lies on %s: locks and durable writes depend on its server", kind))
	}
	if !exists {
		return append(found, good("%s; links were not tried, because data_dir does not exist yet", kind))
	}
	if tried := d.tryFileSystem(dir, kind); len(tried) > 0 {
		return append(found, tried...)
	}
	able := "hard links and atomic exchange work"
	if durable.HasReliableSyncfs(dir) {
		able += ", syncfs too"
	}
	return append(found, good("%s: %s", kind, able))
}

// tryFileSystem makes two files, a link and an exchange in a temporary folder.
func (d *disk) tryFileSystem(dir *fsops.Dir, kind string) []Finding {
	temp := fsops.TempName("doctor")
	defer dir.Discard(temp)
	err := dir.MakeDir(temp, 0o700)
	for _, name := range []string{"/a", "/b"} {
		if err == nil {
			err = dir.CreateFile(temp+name, 0o600, func(w io.Writer) error { _, err := io.WriteString(w, name); return err })
		}
	}
	if err != nil {
		return []Finding{d.cannotWrite(err)}
	}
	folder, err := dir.Open(temp)
	if err != nil {
		return []Finding{d.cannotWrite(err)}
	}
	defer folder.Close()
	var found []Finding
	if err := fsops.HardLink(folder, "a", folder, "c"); err != nil {
		d.noLinks = true
		found = append(found, hint("use ext4, xfs or btrfs", "%s makes no hard links (%v): files are copied, and each revision takes its whole size", kind, errors.Unwrap(err)))
	}
	if err := fsops.Exchange(dir, temp+"/a", dir, temp+"/b"); err != nil {
		found = append(found, d.noExchange(kind, errors.Unwrap(err)))
	}
	return found
}

// noExchange is a failure only where something needs it.
func (d *disk) noExchange(kind string, err error) Finding {
	const next = "use ext4, xfs or btrfs"
	for _, v := range d.cfg.Views {
		if v.Export != "" {
			return failure(next, "%s cannot exchange two names in one step (%v), which the export of view %s needs", kind, err, v.Name)
		}
	}
	return hint(next, "%s cannot exchange two names in one step (%v): views cannot be exported", kind, err)
}

// cannotWrite explains a failed attempt to write.
func (d *disk) cannotWrite(err error) Finding {
	if fsops.IsFull(err) {
		return failure("make room on it", "the file system of data_dir %s is full: %v", d.cfg.DataDir, cause(err))
	}
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return d.forbidden("data_dir", strings.TrimSuffix(d.cfg.DataDir, "/"), path.Err, d.giveStep())
	}
	return d.forbidden("data_dir", d.cfg.DataDir, err, d.giveStep())
}
