//go:build linux

package readers

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// process is one process that is looked at.
type process struct {
	procfs.Proc
	dir    string // in procfs
	index  *index
	mounts map[uint64]bool // that this process sees, by their numbers; nil if no other user's processes can be looked at
	found  map[revision]*use
}

// isMountedHere is true when a link of procfs leads to a file by way of a mount that this
// process sees. The process that has the file may have got it from another one.
func (p *process) isMountedHere(link string) bool {
	if p.mounts == nil {
		return true
	}
	var st unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, link, unix.AT_STATX_DONT_SYNC, unix.STATX_MNT_ID, &st)
	return err == nil && st.Mask&unix.STATX_MNT_ID != 0 && p.mounts[st.Mnt_id]
}

// descriptors looks at the open files. A process that ended meanwhile has none.
func (p *process) descriptors() error {
	numbers, err := p.FileDescriptors()
	if err != nil {
		return ifHidden(err)
	}
	for _, number := range numbers {
		name := fmt.Sprintf("%s/fd/%d", p.dir, number)
		target, err := os.Readlink(name)
		if err != nil || !strings.HasPrefix(target, "/") { // sockets and pipes
			continue
		}
		id, ok := inodeOf(name)
		if !ok {
			continue
		}
		if f, found := p.index.find(id, target, func() bool { return p.isMountedHere(name) }); found {
			p.note(f).open++
		}
	}
	return nil
}

// mappings looks at the mapped files. A file has an entry for each of its parts.
func (p *process) mappings() error {
	maps, err := p.ProcMaps()
	if err != nil {
		return ifHidden(err)
	}
	seen := map[file]bool{}
	for _, m := range maps {
		if !strings.HasPrefix(m.Pathname, "/") {
			continue
		}
		target := strings.ReplaceAll(m.Pathname, `\012`, "\n") // as the kernel writes a line feed
		link := fmt.Sprintf("%s/map_files/%x-%x", p.dir, m.StartAddr, m.EndAddr)
		if f, found := p.index.find(inode{m.Dev, m.Inode}, target, func() bool { return p.isMountedHere(link) }); found && !seen[f] {
			seen[f] = true
			p.note(f).mapped++
		}
	}
	return nil
}

func (p *process) note(f file) *use {
	u := p.found[f.revision]
	if u == nil {
		u = &use{files: map[string]bool{}}
		p.found[f.revision] = u
	}
	u.files[f.path] = true
	return u
}

// ifHidden returns the errors that hide a process; it may also have ended.
func ifHidden(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return err
	}
	return nil
}

// inodeOf follows a link of procfs to the file itself, in whatever mount namespace. It
// takes what the kernel knows: a server of NFS or FUSE that does not answer would hold it
// up for ever.
func inodeOf(name string) (inode, bool) {
	var st unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, name, unix.AT_STATX_DONT_SYNC, unix.STATX_TYPE|unix.STATX_INO, &st)
	if err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return inode{}, false
	}
	return inode{unix.Mkdev(st.Dev_major, st.Dev_minor), st.Ino}, true
}
