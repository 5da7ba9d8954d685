//go:build linux

package readers

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"syncd/internal/manifest"
	"syncd/internal/mirror"
)

type revision struct{ manifest, release, id string }

type file struct {
	revision
	path string // within the manifest
}

// inode identifies a file among all file systems.
type inode struct {
	device uint64
	number uint64
}

// index finds the revision of an open file: by its path where that can be trusted, else by
// its device and inode. Views, exports and containers show the same files by other paths.
type index struct {
	revisions string // the folder, without symlinks, with a slash
	inodes    map[inode]file
}

// indexIn returns an index that finds files by their paths only.
func indexIn(m *mirror.Mirror) (*index, error) {
	dir, err := filepath.EvalSymlinks(m.Dir())
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	return &index{revisions: filepath.Join(dir, "revisions") + "/", inodes: map[inode]file{}}, nil
}

func newIndex(m *mirror.Mirror) (*index, error) {
	i, err := indexIn(m)
	if err != nil {
		return nil, err
	}
	generations, err := m.Generations.All() // every user can read them, unlike the records in state/
	if err != nil {
		return nil, err
	}
	slices.Reverse(generations) // an object of several revisions counts for the newest generation
	for _, g := range generations {
		for _, record := range g.Records {
			i.add(m, record)
		}
	}
	return i, nil
}

// add adds the files of a record by the inodes of their objects, which hard links share.
func (i *index) add(m *mirror.Mirror, record mirror.Record) {
	of := revision{record.Manifest, string(record.Release), record.Revision}
	for _, f := range record.Files {
		if id, ok := objectInode(m, f.Object); ok {
			i.inodes[id] = file{of, f.Path}
		}
	}
}

func objectInode(m *mirror.Mirror, id manifest.ObjectID) (inode, bool) {
	name := id.String()
	info, err := m.Root().Lstat(filepath.Join("objects", name[:2], name))
	if err != nil {
		return inode{}, false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return inode{}, false
	}
	return inode{st.Dev, st.Ino}, true
}

// find returns the file that a process has. Its path tells revisions with the same content
// apart, and names a pruned one. It counts only if the file was opened by way of a mount that
// this process sees: in a mount namespace of its own, every user can make a folder with any
// path.
func (i *index) find(id inode, path string, isMountedHere func() bool) (file, bool) {
	if inside, isInside := strings.CutPrefix(path, i.revisions); isInside && isMountedHere() {
		if f, ok := parsePath(strings.TrimSuffix(inside, " (deleted)")); ok { // which the kernel adds
			return f, true
		}
	}
	f, found := i.inodes[id]
	return f, found
}

// revisionForm is the name of a revision. Pruning renames it before it removes it, see
// fsops.TempName.
var revisionForm = regexp.MustCompile(`^(?:\.tmp-)?(.+?)-([0-9a-f]{12})(?:-[0-9A-Z]+)?$`)

// parsePath reads MANIFEST/RELEASE-REVISION/PATH.
func parsePath(path string) (file, bool) {
	parts := strings.SplitN(path, "/", 3)
	if len(parts) < 3 {
		return file{}, false
	}
	match := revisionForm.FindStringSubmatch(parts[1])
	if match == nil {
		return file{}, false
	}
	return file{revision{parts[0], match[1], match[2]}, parts[2]}, true
}
