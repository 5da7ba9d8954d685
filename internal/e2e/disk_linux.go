package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// OnSmallDisk puts a host's data directory on a tmpfs of its own.
func OnSmallDisk(h *Host, options string) {
	h.Helper()
	point := h.Path("disk")
	h.Must(os.Mkdir(point, 0o755))
	if err := unix.Mount("tmpfs", point, "tmpfs", 0, options); err != nil {
		h.Skipf("NOT TESTED: a small disk needs a tmpfs of its own, which only root may mount here: %v", err)
	}
	h.Cleanup(func() { h.Must(unix.Unmount(point, unix.MNT_DETACH)) })
	UseDisk(h, point)
}

// OnSmallTmpfs puts a host's data directory on a disk of 8 MiB.
func OnSmallTmpfs(h *Host) { OnSmallDisk(h, "size=8m,nr_inodes=400") }

// UseDisk moves a host's data directory to a mounted disk.
func UseDisk(h *Host, disk string) {
	h.Helper()
	h.Data = filepath.Join(disk, "data")
	h.Configure()
}

// ReadOnly remounts a folder read-only, like a failed disk. The returned function makes
// it writable again.
func ReadOnly(h *Host, dir string) (writable func()) {
	h.Helper()
	if err := unix.Mount(dir, dir, "", unix.MS_BIND, ""); err != nil {
		h.Skipf("NOT TESTED: only root may mount here: %v", err)
	}
	writable = sync.OnceFunc(func() { h.Must(unix.Unmount(dir, unix.MNT_DETACH)) })
	h.Cleanup(writable)
	h.Must(unix.Mount("", dir, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	return writable
}

// Stats describes every file of a folder: inode, mode, names and times.
func Stats(h *Host, dir string) map[string]string {
	all := map[string]string{}
	h.Must(filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		h.Must(err)
		st := info.Sys().(*syscall.Stat_t)
		all[path] = fmt.Sprint(st.Ino, info.Mode(), st.Nlink, st.Size, st.Mtim, st.Ctim)
		return nil
	}))
	return all
}
