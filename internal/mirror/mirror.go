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

	"syscall"

	"syncd/internal/disk/datadir"
	"syncd/internal/disk/durable"
	"syncd/internal/disk/fsops"
	"syncd/internal/disk/space"
)

// Mirror is a data directory. Adopt, AdoptEach, SyncObjects, Current, Intact and the
// methods that only read are safe for concurrent use. The caller runs one of the other
// methods at a time.
type Mirror struct {
	dir  string
	disk *durable.Disk

	// Served is called after each swap, by the goroutine that published. It is set before
	// the first Publish; nil means not at all.
	Served func(Generation)

	// Set by Open and Recover.
	root    *fsops.Dir // the data directory; nil while it is missing
	objects *fsops.Dir // nil before Recover, as is partial
	partial *fsops.Dir

	// Used by the methods that change the data directory, one at a time.
	left         map[int]time.Time // when generations left `current`, by the monotonic clock of this process
	unsyncedSwap bool              // the last swap may not be durable

	granting sync.RWMutex // held by Grant, and for reading while objects are added
	access   Access       // of what is made; changed by SetAccess and Grant
	granted  string       // as accessFile has it; "" when not read yet

	probing     sync.Once // sets copiesBytes
	copiesBytes bool

	syncingObjects sync.Mutex // held by SyncObjects

	swapping sync.RWMutex // held while `current` on disk and in memory may differ

	mu         sync.Mutex // guards what follows; never held across an fsync, because Current needs it
	current    Generation
	stats      map[string]os.FileInfo // of the current generation's records when they were read, by name
	objectDirs map[string]dirState    // the object directories that are known to exist
}

// Open reads the data directory dir as it is, which may be empty or missing, and
// changes nothing. It refuses one that is not safe, see package datadir.
func Open(dir string, disk *durable.Disk) (*Mirror, error) {
	m := &Mirror{dir: dir, disk: disk, access: DefaultAccess(), left: map[int]time.Time{}, objectDirs: map[string]dirState{}}
	var err error
	if m.root, err = datadir.Open(dir); err != nil && !isGone(err) {
		return m, err
	}
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

// Close closes the directories that the mirror holds open. A nil Mirror has none.
func (m *Mirror) Close() error {
	if m == nil {
		return nil
	}
	return errors.Join(m.objects.Close(), m.partial.Close(), m.root.Close())
}

// Names of files are relative to the data directory.

func generationDir(number int) string { return filepath.Join("generations", generationName(number)) }

// GenerationDir is the directory of a generation within the data directory.
func GenerationDir(number int) string { return generationDir(number) }

// SumsName is the name of the file of sums beside a manifest or view.
func SumsName(name string) string { return name + sumsSuffix }

// Dir is the data directory.
func (m *Mirror) Dir() string { return m.dir }

// Root is the data directory, opened by Open or MakeState. Close closes it.
func (m *Mirror) Root() *fsops.Dir { return m.root }

// Partial is the directory of unfinished downloads, opened by Recover. Close closes it.
func (m *Mirror) Partial() *fsops.Dir { return m.partial }

// Current returns the generation that is served. Its records are shared: read only.
func (m *Mirror) Current() Generation {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.current
}

func (m *Mirror) setCurrent(g Generation) {
	stats := m.statRecords(g)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.current, m.stats = g, stats
}

var (
	currentForm    = regexp.MustCompile(`^generations/([0-9]{6,})$`)
	generationForm = regexp.MustCompile(`^[0-9]{6,}$`)
)

func generationName(number int) string { return fmt.Sprintf("%06d", number) }

// readCurrent returns the number that `current` names, 0 when there is no such link.
func (m *Mirror) readCurrent() (int, error) {
	target, err := m.root.Readlink("current")
	if isGone(err) {
		return 0, nil
	}
	if errors.Is(err, syscall.ENOTDIR) {
		return 0, fmt.Errorf("data_dir %s is not a directory", m.dir)
	}
	if err != nil && !errors.Is(err, syscall.EINVAL) {
		return 0, err
	}
	if err != nil {
		return 0, fmt.Errorf("%s is not the symlink that syncd makes: move it away: %w", filepath.Join(m.dir, "current"), err)
	}
	match := currentForm.FindStringSubmatch(target)
	if match == nil {
		return 0, fmt.Errorf("%s points to %q, which is not a generation: move it away", filepath.Join(m.dir, "current"), target)
	}
	return strconv.Atoi(match[1])
}

// numbers returns the numbers of all generations on disk, ascending, also of what has
// the name of one and is no directory.
func (m *Mirror) numbers() ([]int, error) {
	names, err := m.root.Names("generations")
	if err != nil && !isGone(err) {
		return nil, err
	}
	var numbers []int
	for _, name := range names {
		if n, err := strconv.Atoi(name); err == nil && generationForm.MatchString(name) {
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

// Records returns every record on disk: those of each generation, and those of
// revisions that no generation shows any more. A revision may have several.
func (m *Mirror) Records() ([]Record, error) {
	generations, err := m.Generations()
	if err != nil {
		return nil, err
	}
	var records []Record
	for _, g := range generations {
		records = slices.AppendSeq(records, maps.Values(g.Records))
	}
	names, err := m.root.Names(recordsDir)
	if err != nil && !isGone(err) {
		return nil, err
	}
	for _, name := range names {
		kept, err := m.keptRecords(name, nil)
		if err != nil {
			return nil, err
		}
		records = append(records, kept...)
	}
	return records, nil
}

// makeDir makes a directory for readers, whatever the umask, and makes its name durable.
// It also completes a directory that a crash left half made.
func (m *Mirror) makeDir(dir string) error {
	if err := m.ensureReadable(m.root, dir); err != nil {
		return err
	}
	return m.disk.SyncDir(m.root, filepath.Dir(dir))
}

// GenerationInodes is the number of inodes of a generation: its directory, and a
// link, a record and a file of sums for each manifest and view.
func GenerationInodes(entries int) int64 { return 1 + 3*int64(entries) }

// Free returns what this user may still take of the data directory's file system.
func (m *Mirror) Free() (space.Amount, error) { return space.Free(m.root) }

// errNoGeneration says that a generation is not on disk, or no longer.
var errNoGeneration = errors.New("is not on disk")

// Generation returns one generation by its number.
func (m *Mirror) Generation(number int) (Generation, error) {
	g, err := m.readGeneration(number)
	if isGone(errors.Unwrap(err)) || isGone(err) {
		return Generation{}, fmt.Errorf("generation %d %w: `syncd history` marks those that are", number, errNoGeneration)
	}
	return g, err
}
