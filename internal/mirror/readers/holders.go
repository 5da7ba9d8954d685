//go:build linux

package readers

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/prometheus/procfs"

	"syncd/internal/mirror"
)

// Of names the processes that have a file open or mapped by any of its names, but not this
// one. proc is where procfs is mounted.
func Of(proc, path string) (names []string, err error) {
	wanted, found := inodeOf(path)
	if !found {
		return nil, nil
	}
	mounted, err := procfs.NewFS(proc)
	if err != nil {
		return nil, err
	}
	all, err := mounted.AllProcs()
	if err != nil {
		return nil, err
	}
	index := &index{revisions: "//", inodes: map[inode]file{wanted: {path: path}}} // no path of the kernel begins so
	for _, one := range all {
		p := process{Proc: one, dir: filepath.Join(proc, strconv.Itoa(one.PID)), index: index, found: map[revision]*use{}}
		if one.PID == os.Getpid() || errors.Join(p.descriptors(), p.mappings()) != nil || len(p.found) == 0 {
			continue
		}
		command, _ := p.Comm() // "" if the process has ended
		names = append(names, fmt.Sprintf("%s (%d)", command, one.PID))
	}
	slices.Sort(names)
	return names, nil
}

// OfRevision lists the processes that have files of one revision open or mapped, which is not
// served. A content that is served, too, counts only by its path in the revision.
func OfRevision(m *mirror.Mirror, proc string, record mirror.Record) ([]Reader, error) {
	index, err := indexIn(m)
	if err != nil {
		return nil, err
	}
	index.add(m, record)
	for _, served := range m.Current().Records {
		index.add(m, served)
	}
	result, err := index.scan(m.Current(), proc)
	return slices.DeleteFunc(result.Readers, func(r Reader) bool {
		return r.Manifest != record.Manifest || r.Release != string(record.Release) || r.Revision != record.Revision
	}), err
}
