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
	dir   string // in procfs
	index *index
	found map[revision]*use
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
		if f, ok := p.index.find(target, func() (inode, bool) { return inodeOf(name) }); ok {
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
		if f, found := p.index.find(target, func() (inode, bool) { return inode{m.Dev, m.Inode}, true }); found && !seen[f] {
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
