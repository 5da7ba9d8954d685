package patches

import (
	"bytes"
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"syncd/internal/disk/durable"
	"syncd/internal/disk/fsops"
	"syncd/internal/downstream/bucket"
	"syncd/internal/manifest"
	"syncd/internal/mirror/record"
	"syncd/internal/store"
)

// Dir is the folder of patches in the data directory.
const Dir = "patches"

// Smallest is the size of the smallest content that has patches, in bytes. Smaller ones come
// in packs.
const Smallest = 64 << 10

// Pair names a patch by its contents.
type Pair = store.Pair

// Memory keeps the sizes of patches that were not worth keeping. A negative size forgets one.
type Memory interface {
	Useless() (map[Pair]int64, error)
	SetUseless(sizes map[Pair]int64) error
}

// Store has the patches of a data directory. Safe for concurrent use.
type Store struct {
	root   *fsops.Dir
	disk   *durable.Disk
	memory Memory

	mu      sync.Mutex                                        // guards what follows, and the names in the folder
	kept    map[manifest.ObjectID]map[manifest.ObjectID]int64 // their sizes, by the new content and then by the old one
	bytes   int64                                             // of kept
	useless map[Pair]int64
	unsaved map[Pair]int64 // changes of useless
}

// Open returns the patches of a data directory, and removes what a crash left. The caller has
// the lock of the directory.
func Open(root *fsops.Dir, disk *durable.Disk, memory Memory) (*Store, error) {
	s := &Store{root: root, disk: disk, memory: memory, kept: map[manifest.ObjectID]map[manifest.ObjectID]int64{}, unsaved: map[Pair]int64{}}
	var err error
	if s.useless, err = memory.Useless(); err != nil {
		return nil, err
	}
	if err := root.SweepTemps(Dir); err != nil {
		return nil, err
	}
	err = onDisk(root, s.addLocked)
	return s, err
}

// Count counts the patches of a data directory and their bytes. It needs no lock.
func Count(root *fsops.Dir) (count int, bytes int64, err error) {
	err = onDisk(root, func(_ Pair, size int64) { count, bytes = count+1, bytes+size })
	return count, bytes, err
}

// onDisk passes the patches of a data directory to each.
func onDisk(root *fsops.Dir, each func(p Pair, size int64)) error {
	entries, err := root.ReadDir(Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, entry := range entries {
		before, after, isPatch := bucket.ParsePatchName(bucket.Patches + entry.Name())
		info, infoErr := entry.Info()
		if isPatch && infoErr == nil && info.Mode().IsRegular() {
			each(Pair{Old: before, New: after}, info.Size())
		}
	}
	return err
}

func (s *Store) addLocked(p Pair, size int64) {
	if s.kept[p.New] == nil {
		s.kept[p.New] = map[manifest.ObjectID]int64{}
	}
	s.bytes += size - s.kept[p.New][p.Old]
	s.kept[p.New][p.Old] = size
}

// List returns the patches to the contents of a record, sorted by their new content. One that is
// as large as its content is of no use to anybody: something else has written it, and it could
// be endless.
func (s *Store) List(r record.Record) (list []bucket.Patch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.kept) == 0 {
		return nil
	}
	seen := map[manifest.ObjectID]bool{}
	for _, f := range r.Files {
		of := s.kept[f.Object]
		if len(of) == 0 || seen[f.Object] {
			continue
		}
		seen[f.Object] = true
		for before, size := range of {
			if size < f.Size {
				list = append(list, bucket.Patch{Old: before, New: f.Object, Size: size})
			}
		}
	}
	slices.SortFunc(list, func(a, b bucket.Patch) int {
		return cmp.Or(bytes.Compare(a.New[:], b.New[:]), bytes.Compare(a.Old[:], b.Old[:]))
	})
	return list
}

// Open opens a patch, and returns its size. The error is fs.ErrNotExist if there is none.
func (s *Store) Open(before, after manifest.ObjectID) (f *os.File, size int64, err error) {
	p := Pair{Old: before, New: after}
	size, found := s.size(p)
	if !found {
		return nil, 0, fs.ErrNotExist
	}
	f, err = s.root.OpenRegular(nameOf(p))
	return f, size, err
}

// Kept counts the patches and their bytes.
func (s *Store) Kept() (count int, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, of := range s.kept {
		count += len(of)
	}
	return count, s.bytes
}

func (s *Store) size(p Pair) (size int64, found bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	size, found = s.kept[p.New][p.Old]
	return size, found
}

// uselessSize is the size of a patch that was made once and not kept, or what it had at least.
func (s *Store) uselessSize(p Pair) (size int64, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	size, known = s.useless[p]
	return size, known
}

// nameOf is the path of a patch within the data directory.
func nameOf(p Pair) string { return filepath.FromSlash(bucket.PatchName(p.Old, p.New)) }

// begin makes the folder, and returns a temporary name for a patch within the data directory,
// and its path.
func (s *Store) begin(p Pair) (temp, path string, err error) {
	if _, err := s.root.Lstat(Dir); errors.Is(err, fs.ErrNotExist) {
		if err := s.root.EnsureDir(Dir, 0o700); err != nil {
			return "", "", err
		}
		if err := s.disk.SyncDir(s.root, "."); err != nil {
			return "", "", err
		}
	}
	temp = fsops.TempName(nameOf(p))
	return temp, s.root.Path(temp), nil
}

// drop removes what is there of an unfinished patch.
func (s *Store) drop(temp string) { s.root.Discard(temp) }

// errGone says that a content of a patch has gone meanwhile.
var errGone = errors.New("a content was removed")

// keep gives a durable file the name of a patch, unless mayStay is false at that moment.
func (s *Store) keep(p Pair, temp string, size int64, mayStay func() bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !mayStay() {
		s.root.Discard(temp)
		return errGone
	}
	if err := s.disk.Rename(s.root, temp, nameOf(p)); err != nil {
		s.root.Discard(temp)
		return err
	}
	s.addLocked(p, size)
	return nil
}

// discard remembers the size of a patch that is not worth keeping, and removes it.
func (s *Store) discard(p Pair, size int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.useless[p], s.unsaved[p] = size, size
	_, err := s.removeLocked(func(other Pair) bool { return other == p })
	return err
}

// save makes durable what discard and prune have changed in the memory.
func (s *Store) save() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.unsaved) == 0 {
		return nil
	}
	err := s.memory.SetUseless(s.unsaved)
	if err == nil {
		clear(s.unsaved)
	}
	return err
}

// prune removes the patches to contents that do not stay, and forgets the sizes of others.
func (s *Store) prune(stays func(manifest.ObjectID) bool) (removed int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for p := range s.useless {
		if !stays(p.New) {
			delete(s.useless, p)
			s.unsaved[p] = -1
		}
	}
	return s.removeLocked(func(p Pair) bool { return !stays(p.New) })
}

// remove removes some patches.
func (s *Store) remove(some func(Pair) bool) (removed int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.removeLocked(some)
}

// removeLocked removes some patches, durably.
func (s *Store) removeLocked(some func(Pair) bool) (removed int, err error) {
	for after, of := range s.kept {
		for before, size := range of {
			p := Pair{Old: before, New: after}
			if !some(p) {
				continue
			}
			if failed := s.root.Remove(nameOf(p)); failed != nil && !errors.Is(failed, fs.ErrNotExist) {
				err = errors.Join(err, failed)
				continue
			}
			removed++
			s.bytes -= size
			delete(of, before)
		}
		if len(of) == 0 {
			delete(s.kept, after)
		}
	}
	if removed == 0 {
		return 0, err
	}
	return removed, errors.Join(err, s.disk.SyncDir(s.root, Dir))
}

// yield removes patches until that gives back some bytes: those that save the fewest first.
func (s *Store) yield(wanted int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []bucket.Patch
	for after, of := range s.kept {
		for before, size := range of {
			all = append(all, bucket.Patch{Old: before, New: after, Size: size})
		}
	}
	// Compressed wholes are the largest, and patches save most for each byte.
	slices.SortFunc(all, func(a, b bucket.Patch) int { return cmp.Compare(b.Size, a.Size) })
	goes := map[Pair]bool{}
	for _, p := range all {
		if wanted <= 0 {
			break
		}
		goes[Pair{Old: p.Old, New: p.New}] = true
		wanted -= p.Size
	}
	_, err := s.removeLocked(func(p Pair) bool { return goes[p] })
	return err
}

// to returns the patches to a content.
func (s *Store) to(after manifest.ObjectID) (all []bucket.Patch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for before, size := range s.kept[after] {
		all = append(all, bucket.Patch{Old: before, New: after, Size: size})
	}
	return all
}
