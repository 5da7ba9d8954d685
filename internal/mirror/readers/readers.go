//go:build linux

package readers

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/prometheus/procfs"

	"syncd/internal/mirror"
)

// Reader is one process with files of one revision, as `readers --json` prints it.
type Reader struct {
	PID      int      `json:"pid"`
	Command  string   `json:"command"`
	Manifest string   `json:"manifest"`
	Release  string   `json:"release"`
	Revision string   `json:"revision"`
	Served   bool     `json:"served"` // the revision is the served one
	Open     int      `json:"open"`   // descriptors
	Mapped   int      `json:"mapped"` // files
	Files    []string `json:"files"`  // paths within the manifest, maxFiles at most
}

// Result is what a scan found, and what it could not see.
type Result struct {
	Readers []Reader `json:"readers"`
	Unseen  int      `json:"unseen"` // processes whose files this user may not see
	Notes   []string `json:"notes"`  // about what may be missing
}

// maxFiles is how many files a Reader names.
const maxFiles = 20

// Scan looks at all processes but this one. proc is where procfs is mounted.
func Scan(m *mirror.Mirror, proc string) (Result, error) {
	index, err := newIndex(m)
	if err != nil {
		return Result{}, err
	}
	return index.scan(m.Current(), proc)
}

// scan looks at all processes but this one for the files of the index.
func (i *index) scan(current mirror.Generation, proc string) (Result, error) {
	mounted, err := procfs.NewFS(proc)
	if err != nil {
		return Result{}, err
	}
	all, err := mounted.AllProcs()
	if err != nil {
		return Result{}, err
	}
	mounts, err := ownMounts()
	if err != nil {
		return Result{}, err
	}
	result := Result{Readers: []Reader{}, Notes: notes(proc)}
	for _, one := range all {
		if one.PID == os.Getpid() {
			continue
		}
		p := process{Proc: one, dir: filepath.Join(proc, strconv.Itoa(one.PID)), index: i, mounts: mounts, found: map[revision]*use{}}
		err = errors.Join(p.descriptors(), p.mappings())
		if errors.Is(err, fs.ErrPermission) {
			result.Unseen++
		}
		result.Readers = append(result.Readers, p.readers(current)...)
	}
	slices.SortFunc(result.Readers, func(a, b Reader) int {
		return cmp.Or(cmp.Compare(a.PID, b.PID), cmp.Compare(a.Manifest, b.Manifest), cmp.Compare(a.Release, b.Release))
	})
	return result, nil
}

// ownMounts returns the numbers of the mounts that this process sees. Another user than root
// needs none: the kernel shows only processes of that user.
func ownMounts() (map[uint64]bool, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	all, err := procfs.GetMounts()
	numbers := make(map[uint64]bool, len(all))
	for _, mount := range all {
		numbers[uint64(mount.MountID)] = true
	}
	return numbers, err
}

// initialPIDs is the number of the first PID namespace of every kernel.
const initialPIDs = "pid:[4026531836]"

func notes(proc string) []string {
	notes := []string{}
	if os.Geteuid() != 0 {
		notes = append(notes, "not run as root: processes of other users may be missing")
	}
	if namespace, err := os.Readlink(filepath.Join(proc, "self", "ns", "pid")); err == nil && namespace != initialPIDs {
		notes = append(notes, "run in a container: processes outside it are missing")
	}
	return notes
}

// use is what a process has of one revision.
type use struct {
	open   int
	mapped int
	files  map[string]bool
}

// readers turns what was found into a Reader for each revision.
func (p *process) readers(current mirror.Generation) []Reader {
	var list []Reader
	command, _ := p.Comm() // "" if the process has ended
	for of, u := range p.found {
		r := Reader{
			PID: p.PID, Command: command, Manifest: of.manifest, Release: of.release, Revision: of.id,
			Served: current.Records[of.manifest].ID() == of.release+"-"+of.id, Open: u.open, Mapped: u.mapped, Files: []string{},
		}
		for file := range u.files {
			r.Files = append(r.Files, file)
		}
		slices.Sort(r.Files)
		r.Files = r.Files[:min(len(r.Files), maxFiles)]
		list = append(list, r)
	}
	return list
}
