//go:build linux

package readers

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// process is one process that is looked at.
type process struct {
	pid   int
	dir   string // in procfs
	index *index
	found map[revision]*use
}

// descriptors looks at the open files. A process that ended meanwhile has none.
func (p *process) descriptors() error {
	dir := filepath.Join(p.dir, "fd")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return ifHidden(err)
	}
	for _, entry := range entries {
		name := filepath.Join(dir, entry.Name())
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

// mappings looks at the mapped files. A file has a line for each of its parts.
func (p *process) mappings() error {
	maps, err := os.Open(filepath.Join(p.dir, "maps"))
	if err != nil {
		return ifHidden(err)
	}
	defer maps.Close()
	seen := map[file]bool{}
	lines := bufio.NewScanner(maps)
	for lines.Scan() {
		target, id, ok := parseMapping(lines.Text())
		if !ok {
			continue
		}
		if f, found := p.index.find(target, func() (inode, bool) { return id, true }); found && !seen[f] {
			seen[f] = true
			p.note(f).mapped++
		}
	}
	return ifHidden(lines.Err())
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

// parseMapping reads a line of maps: range, rights, offset, device, inode, path.
func parseMapping(line string) (path string, id inode, ok bool) {
	fields := strings.Fields(line)
	if len(fields) < 6 || !strings.HasPrefix(fields[5], "/") {
		return "", inode{}, false
	}
	major, minor, _ := strings.Cut(fields[3], ":")
	ma, err1 := strconv.ParseUint(major, 16, 32)
	mi, err2 := strconv.ParseUint(minor, 16, 32)
	number, err3 := strconv.ParseUint(fields[4], 10, 64)
	if err1 != nil || err2 != nil || err3 != nil {
		return "", inode{}, false
	}
	_, path, _ = strings.Cut(line, "/") // a path may have spaces
	return strings.ReplaceAll("/"+path, `\012`, "\n"), inode{unix.Mkdev(uint32(ma), uint32(mi)), number}, true
}
