// Package mirror owns the data directory: objects, revisions, generations and
// the symlink `current`, in the layout of README.md's on-disk contract. What has
// a final name is complete; readers follow `current` and nothing else. All
// changes need the data directory's lock, which the caller holds.
package mirror

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"syncd/internal/durable"
	"syncd/internal/manifest"
)

// Mirror is a data directory. Methods that change it are not safe for concurrent
// use, except Adopt; Current is.
type Mirror struct {
	dir  string
	disk *durable.Disk

	left  map[int]time.Time // when generations left `current`, as this process saw it on its own clock
	doubt bool              // the last swap may not be durable

	swapping sync.RWMutex // held while `current` on disk and in memory may differ

	mu         sync.Mutex
	current    Generation
	looks      map[string]os.FileInfo // how the current generation's records looked when they were read
	objectDirs map[string]dirState    // the object folders that are known to exist
}

// Open reads the data directory dir as it is, which may be empty or missing, and
// changes nothing.
func Open(dir string, disk *durable.Disk) (*Mirror, error) {
	m := &Mirror{dir: dir, disk: disk, left: map[int]time.Time{}, objectDirs: map[string]dirState{}}
	number, err := m.readCurrent()
	if err != nil || number == 0 {
		return m, err
	}
	current, err := m.readGeneration(number)
	if err != nil {
		return m, &BrokenError{Generation: number, Err: err}
	}
	m.setCurrent(current)
	return m, nil
}

// BrokenError says that `current` does not name a complete generation.
type BrokenError struct {
	Generation int
	Err        error
}

func (e *BrokenError) Error() string {
	return fmt.Sprintf("current names generation %d, which is not complete: %v: `syncd sync` rebuilds it from what is on disk", e.Generation, e.Err)
}

func (e *BrokenError) Unwrap() error { return e.Err }

func (m *Mirror) path(elem ...string) string {
	return filepath.Join(append([]string{m.dir}, elem...)...)
}

func (m *Mirror) revisionDir(r Record) string { return m.path("revisions", r.Manifest, r.ID()) }

// Dir is the data directory.
func (m *Mirror) Dir() string { return m.dir }

// Partial is the folder of unfinished downloads.
func (m *Mirror) Partial() string { return m.path("partial") }

// State is the folder of the lock, the state file and the control socket.
func (m *Mirror) State() string { return m.path("state") }

// Current returns the generation that is served. Its records are shared: read only.
func (m *Mirror) Current() Generation {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.current
}

func (m *Mirror) setCurrent(g Generation) {
	looks := m.looksOf(g)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.current, m.looks = g, looks
}

var (
	currentForm    = regexp.MustCompile(`^generations/([0-9]{6,})$`)
	generationForm = regexp.MustCompile(`^[0-9]{6,}$`)
)

func generationName(number int) string { return fmt.Sprintf("%06d", number) }

// readCurrent returns the number that `current` names, 0 when there is no such link.
func (m *Mirror) readCurrent() (int, error) {
	target, err := os.Readlink(m.path("current"))
	if isGone(err) {
		return 0, nil
	}
	if err != nil && !errors.Is(err, unix.EINVAL) {
		return 0, err
	}
	if err != nil {
		return 0, fmt.Errorf("%s is not the symlink that syncd makes: move it away: %w", m.path("current"), err)
	}
	match := currentForm.FindStringSubmatch(target)
	if match == nil {
		return 0, fmt.Errorf("%s points to %q, which is not a generation: move it away", m.path("current"), target)
	}
	return strconv.Atoi(match[1])
}

// numbers returns the numbers of all generations on disk, ascending.
func (m *Mirror) numbers() ([]int, error) {
	entries, err := os.ReadDir(m.path("generations"))
	if err != nil && !isGone(err) {
		return nil, err
	}
	var numbers []int
	for _, entry := range entries {
		if !entry.IsDir() || !generationForm.MatchString(entry.Name()) {
			continue
		}
		if n, err := strconv.Atoi(entry.Name()); err == nil {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers, nil
}

// Generations returns every complete generation on disk, the newest first.
// Damaged ones are left out.
func (m *Mirror) Generations() ([]Generation, error) {
	numbers, err := m.numbers()
	if err != nil {
		return nil, err
	}
	var all []Generation
	for _, n := range numbers {
		if g, err := m.readGeneration(n); err == nil {
			all = append(all, g)
		}
	}
	slices.SortFunc(all, func(a, b Generation) int { return cmp.Compare(b.Number, a.Number) })
	return all, nil
}

// Records returns every record on disk: of each generation, and of revisions that
// none shows any more. One revision may have several.
func (m *Mirror) Records() ([]Record, error) {
	generations, err := m.Generations()
	if err != nil {
		return nil, err
	}
	var records []Record
	for _, g := range generations {
		records = slices.AppendSeq(records, maps.Values(g.Records))
	}
	names, err := os.ReadDir(m.path("state", "records"))
	if err != nil && !isGone(err) {
		return nil, err
	}
	for _, name := range names {
		kept, err := m.keptRecords(name.Name(), nil)
		if err != nil {
			return nil, err
		}
		records = append(records, kept...)
	}
	return records, nil
}

// Objects returns the SHA-256 of every object on disk, sorted.
func (m *Mirror) Objects() ([]string, error) {
	paths, err := m.objectPaths()
	var names []string
	for _, path := range paths {
		name := filepath.Base(path)
		if _, err := manifest.ParseDigest(manifest.SHA256, name); err == nil && path == m.ObjectPath(name) {
			names = append(names, name)
		}
	}
	return names, err
}

// Object returns the object of that name if it is on disk. Whether its content is
// what the name says was known when it got the name.
func (m *Mirror) Object(sha256 string) (manifest.Object, bool) {
	info, there := m.ObjectInfo(sha256)
	if !there {
		return manifest.Object{}, false
	}
	return manifest.Object{SHA256: sha256, Size: info.Size()}, true
}

// ObjectInfo is how the file of an object looks, if it is on disk.
func (m *Mirror) ObjectInfo(sha256 string) (info os.FileInfo, there bool) {
	info, err := os.Stat(m.ObjectPath(sha256))
	return info, err == nil && info.Mode().IsRegular()
}

// ObjectPath is where the object of that name lies, or would.
func (m *Mirror) ObjectPath(sha256 string) string { return m.path(objectName(sha256)) }

// objectName is an object's path within the data directory.
func objectName(sha256 string) string { return filepath.Join("objects", sha256[:2], sha256) }

// Proven is a read-only file whose content was proven. Durable says whether its
// bytes are on stable storage already.
type Proven struct {
	Path    string
	Object  manifest.Object
	Durable bool
}

// Adopt is AdoptEach with one error for all.
func (m *Mirror) Adopt(files ...Proven) error { return errors.Join(m.AdoptEach(files)...) }

// AdoptEach makes proven files objects by renaming them, when their bytes are
// durable. The new names are made durable by the next Publish or SyncObjects. Each
// file has its own error; when bytes could not be made durable, those that are not
// are gone. Safe for concurrent use.
func (m *Mirror) AdoptEach(files []Proven) []error {
	errs := make([]error, len(files))
	var paths []string
	for _, f := range files {
		if !f.Durable {
			paths = append(paths, f.Path)
		}
	}
	if err := m.disk.SyncFiles(paths); err != nil {
		for _, path := range paths { // another fsync could report success for bytes that were dropped
			err = errors.Join(err, durable.RemoveAll(path))
		}
		for i := range errs {
			errs[i] = err
		}
		return errs
	}
	for i, f := range files {
		errs[i] = m.adopt(f)
	}
	return errs
}

func (m *Mirror) adopt(f Proven) error {
	target := m.ObjectPath(f.Object.SHA256)
	dir := filepath.Dir(target)
	if err := m.makeObjectDir(dir); err != nil {
		return err
	}
	err := durable.Rename(f.Path, target)
	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil {
		delete(m.objectDirs, dir) // somebody may have removed it
		return err
	}
	m.objectDirs[dir] = dirty
	return nil
}

// makeObjectDir makes sure of an object folder once in this process's life, and of
// its permissions whatever the umask, also after a try that was cut off half-way.
func (m *Mirror) makeObjectDir(dir string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, made := m.objectDirs[dir]; made {
		return nil
	}
	if err := durable.Mkdir(dir, 0o755); err != nil && !os.IsExist(err) {
		return err
	}
	if err := durable.Chmod(dir, 0o755); err != nil {
		return err
	}
	m.objectDirs[dir], m.objectDirs[filepath.Dir(dir)] = clean, dirty
	return nil
}

// SyncObjects makes the names of all adopted objects durable. No Adopt may be
// under way.
func (m *Mirror) SyncObjects() error {
	dirs := m.dirtyDirs()
	if err := m.disk.SyncDirs(dirs); err != nil { // without the lock: who asks what is served must not wait for the disk
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, dir := range dirs {
		m.objectDirs[dir] = clean
	}
	return nil
}

func (m *Mirror) dirtyDirs() (dirs []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for dir, state := range m.objectDirs {
		if state == dirty {
			dirs = append(dirs, dir)
		}
	}
	slices.Sort(dirs) // every sync takes the same steps
	return dirs
}

// dirState says whether all names in a folder are durable.
type dirState bool

const (
	clean dirState = false
	dirty dirState = true
)

// makeDir makes sure of a folder, of its permissions whatever the umask, and of
// its durable name, also after a try that was cut off half-way.
func (m *Mirror) makeDir(dir string, perm os.FileMode) error {
	if err := durable.Mkdir(dir, perm); err != nil && !os.IsExist(err) {
		return err
	}
	if err := durable.Chmod(dir, perm); err != nil {
		return err
	}
	return m.disk.SyncDir(filepath.Dir(dir))
}

// Space is what a file system has left for this user.
type Space struct {
	Bytes  int64
	Inodes int64 // -1 when the file system has no fixed number
}

// GenerationInodes is what a generation of so many manifests takes: its folder,
// and the three names by which it holds each.
func GenerationInodes(manifests int) int64 { return 1 + 3*int64(manifests) }

// ObjectFolders is how many folders for objects are there, of 256.
func (m *Mirror) ObjectFolders() int {
	entries, err := os.ReadDir(m.path("objects"))
	if err != nil {
		return 0 // then each one is foreseen as missing
	}
	return len(entries)
}

// Free returns what the data directory's file system has left.
func (m *Mirror) Free() (Space, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(m.dir, &st); err != nil {
		return Space{}, fmt.Errorf("statfs %s: %w", m.dir, err)
	}
	free := Space{Bytes: int64(st.Bavail) * st.Bsize, Inodes: int64(st.Ffree)}
	if st.Files == 0 {
		free.Inodes = -1
	}
	return free, nil
}

// errNoGeneration says that a generation is not, or no longer, on disk.
var errNoGeneration = errors.New("no such generation on disk")

// Generation returns one generation by its number.
func (m *Mirror) Generation(number int) (Generation, error) {
	g, err := m.readGeneration(number)
	if isGone(errors.Unwrap(err)) || isGone(err) {
		return Generation{}, fmt.Errorf("generation %d: %w: `syncd history` lists what there is", number, errNoGeneration)
	}
	return g, err
}
