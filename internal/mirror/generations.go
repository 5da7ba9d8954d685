package mirror

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"syncd/internal/mirror/record"
)

// Generations are the states of all manifests that readers see, one after another. The
// symlink `current` names the served one.
type Generations struct {
	*folder

	// Used by the methods that change the data directory, one at a time.
	left         map[int]time.Time // when generations left `current`, by the monotonic clock of this process
	unsyncedSwap bool              // the last swap may not be durable

	swapping sync.RWMutex // held while `current` on disk and in memory may differ

	mu      sync.Mutex // guards what follows; never held across an fsync, because Current needs it
	current Generation
	stats   map[string]os.FileInfo // of the current generation's records when they were read, by name
}

// Current returns the generation that is served. Its records are shared: read only.
func (gs *Generations) Current() Generation {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	return gs.current
}

func (gs *Generations) setCurrent(g Generation) {
	stats := gs.statRecords(g)
	gs.mu.Lock()
	defer gs.mu.Unlock()
	gs.current, gs.stats = g, stats
}

var (
	currentForm    = regexp.MustCompile(`^generations/([0-9]{6,})$`)
	generationForm = regexp.MustCompile(`^[0-9]{6,}$`)
)

// readCurrent returns the number that `current` names, 0 when there is no such link.
func (gs *Generations) readCurrent() (int, error) {
	target, err := gs.root.Readlink("current")
	if isGone(err) {
		return 0, nil
	}
	if errors.Is(err, syscall.ENOTDIR) {
		return 0, fmt.Errorf("data_dir %s is not a directory", gs.dir)
	}
	if err != nil && !errors.Is(err, syscall.EINVAL) {
		return 0, err
	}
	if err != nil {
		return 0, fmt.Errorf("%s is not the symlink that syncd makes: move it away: %w", filepath.Join(gs.dir, "current"), err)
	}
	match := currentForm.FindStringSubmatch(target)
	if match == nil {
		return 0, fmt.Errorf("%s points to %q, which is not a generation: move it away", filepath.Join(gs.dir, "current"), target)
	}
	return strconv.Atoi(match[1])
}

// numbers returns the numbers of all generations on disk, ascending, also of what has
// the name of one and is no directory.
func (gs *Generations) numbers() ([]int, error) {
	names, err := gs.root.Names("generations")
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

// All returns every complete generation on disk, the newest first.
// Damaged ones are left out.
func (gs *Generations) All() ([]Generation, error) {
	numbers, err := gs.numbers()
	if err != nil {
		return nil, err
	}
	var all []Generation
	for _, n := range numbers {
		if g, err := gs.read(n); err == nil {
			all = append(all, g)
		}
	}
	slices.SortFunc(all, func(a, b Generation) int { return cmp.Compare(b.Number, a.Number) })
	return all, nil
}

// errNoGeneration says that a generation is not on disk, or no longer.
var errNoGeneration = errors.New("is not on disk")

// Find returns one generation by its number.
func (gs *Generations) Find(number int) (Generation, error) {
	g, err := gs.read(number)
	if isGone(errors.Unwrap(err)) || isGone(err) {
		return Generation{}, fmt.Errorf("generation %d %w: `syncd history` marks those that are", number, errNoGeneration)
	}
	return g, err
}

// read reads the records of a generation and requires the revision of
// each to be on disk.
func (gs *Generations) read(number int) (Generation, error) {
	dir := generationDir(number)
	info, err := gs.root.Lstat(dir)
	if err != nil {
		return Generation{}, err
	}
	if !info.IsDir() {
		return Generation{}, fmt.Errorf("%s is %w: it is no directory", gs.root.Path(dir), errDamaged)
	}
	g := Generation{Number: number, PublishedAt: info.ModTime(), Records: map[string]Record{}, Views: map[string]View{}}
	entries, err := gs.root.ReadDir(dir)
	if err != nil {
		return Generation{}, err
	}
	for _, entry := range entries {
		name, isRecord := strings.CutSuffix(entry.Name(), recordSuffix)
		if !entry.Type().IsRegular() || !isRecord {
			continue
		}
		if err := gs.readEntry(&g, dir, name); err != nil {
			return Generation{}, err
		}
	}
	for _, entry := range entries {
		_, isManifest := g.Records[entry.Name()]
		_, isView := g.Views[entry.Name()]
		if !isManifest && !isView && entry.Type() == fs.ModeSymlink {
			return Generation{}, fmt.Errorf("%s is %w: it has no record", gs.root.Path(dir, entry.Name()), errDamaged)
		}
	}
	return g, nil
}

// readEntry reads a manifest or a view of a generation. Its link says which.
func (gs *Generations) readEntry(g *Generation, dir, name string) error {
	link, linkErr := gs.root.Readlink(filepath.Join(dir, name))
	file, served := filepath.Join(dir, name+recordSuffix), gs.served(g.Number, name, filepath.Join(dir, name+recordSuffix))
	if record.IsViewLink(link) {
		view := served.Views[name]
		if view.Name == "" {
			var err error
			if view, err = gs.readView(name, file); err != nil {
				return err
			}
		}
		g.Views[name] = view
		return gs.checkEntry(dir, view, view.Dir(), link, linkErr)
	}
	revision := served.Records[name]
	if revision.Manifest == "" {
		var err error
		if revision, err = gs.readRecord(file); err != nil {
			return err
		}
	}
	g.Records[name] = revision
	return gs.checkEntry(dir, revision, revision.Dir(), link, linkErr)
}

// served returns the generation in memory if the record of name is unchanged in it and
// the generation is current, because each poll checks all.
func (gs *Generations) served(number int, name, file string) Generation {
	gs.mu.Lock()
	current, stats := gs.current, gs.stats
	gs.mu.Unlock()
	then, known := stats[name]
	if number != current.Number || !known {
		return Generation{}
	}
	now, err := gs.root.Lstat(file)
	if err == nil && os.SameFile(then, now) && then.Size() == now.Size() && then.ModTime().Equal(now.ModTime()) {
		return current
	}
	return Generation{}
}

// statRecords describes the files of a generation's records.
func (gs *Generations) statRecords(g Generation) map[string]os.FileInfo {
	stats := map[string]os.FileInfo{}
	for _, e := range g.entries() {
		name := e.EntryName()
		if info, err := gs.root.Lstat(filepath.Join(generationDir(g.Number), name+recordSuffix)); err == nil {
			stats[name] = info
		}
	}
	return stats
}

// checkEntry requires the link of a manifest or view, its tree, and the sums: readers of
// a generation need them.
func (gs *Generations) checkEntry(dir string, e entry, tree, link string, err error) error {
	name := e.EntryName()
	if err == nil && link != e.Link() {
		return fmt.Errorf("%s is %w: its link leads to %q", gs.root.Path(dir, name), errDamaged, link)
	}
	missing := filepath.Join(dir, name)
	if err == nil {
		missing = tree
		err = gs.findTree(tree)
	}
	if err == nil {
		missing = filepath.Join(dir, name+sumsSuffix)
		_, err = gs.root.Lstat(missing)
	}
	if isGone(err) {
		return fmt.Errorf("%w: %s is missing", errDamaged, gs.root.Path(missing))
	}
	return err
}

// Intact is nil while `current` and the names of its generation are those of the
// generation in memory. It does not read files. Safe for concurrent use.
func (gs *Generations) Intact() error {
	gs.swapping.RLock()
	defer gs.swapping.RUnlock()
	number, err := gs.readCurrent()
	if err != nil {
		return err
	}
	current := gs.Current()
	if number != current.Number {
		return fmt.Errorf("current names generation %d, not %d: run `syncd sync`", number, current.Number)
	}
	for _, e := range current.entries() {
		name := e.EntryName()
		for _, entry := range []string{name, name + recordSuffix, name + sumsSuffix} {
			if _, err := gs.root.Stat(filepath.Join(generationDir(number), entry)); err != nil {
				return fmt.Errorf("%s of generation %d is missing: run `syncd sync`", entry, number)
			}
		}
	}
	return nil
}

// shows is true when a generation on disk has the tree. A damaged generation does not
// count. One that cannot be read is an error, because it may be whole.
func (gs *Generations) shows(t tree) (bool, error) {
	numbers, err := gs.numbers()
	if err != nil {
		return false, err
	}
	for _, n := range numbers {
		g, err := gs.read(n)
		if err != nil && !errors.Is(err, errDamaged) && !isGone(err) {
			return false, err
		}
		if t.shownBy(g) {
			return true, nil
		}
	}
	return false, nil
}
