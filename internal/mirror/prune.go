package mirror

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"syncd/internal/fsops"
	"syncd/internal/manifest"
)

// Retention says what stays on disk beside what is served.
type Retention struct {
	Revisions int                        // of each served manifest, beside the served one
	Displaced map[string]bool            // manifests of which one fewer stays: a new revision is about to displace it
	For       time.Duration              // nothing goes sooner than this after it left `current`
	Objects   map[manifest.ObjectID]bool // that unfinished syncs want
	Unknown   bool                       // not all of those are known: only objects that were in service go
}

// beside is how many revisions of a manifest stay beside the served one.
func (keep Retention) beside(name string) int {
	if keep.Displaced[name] {
		return max(keep.Revisions-1, 0)
	}
	return keep.Revisions
}

// Prune removes generations, revisions and objects that nothing keeps, in this
// order, so that a crash leaves no generation without its revisions and no
// revision without its objects. It returns when the next generation may go that
// stays now only because it left `current` recently; the zero time for none.
func (m *Mirror) Prune(keep Retention, now time.Time) (next time.Time, err error) {
	all, useless, err := m.survey(now)
	if err != nil {
		return now, err
	}
	chosen, err := m.choose(all, keep, now)
	if err != nil {
		return now, err
	}
	for _, g := range chosen.goes {
		useless = append(useless, g.Number)
	}
	for _, n := range useless {
		err = errors.Join(err, fsops.RemoveTree(m.path("generations", generationName(n))))
		delete(m.left, n)
	}
	if err != nil { // a generation that could not go still needs what it links to
		return now, err
	}
	if !chosen.next.IsZero() { // on now's own clock: the wall's, set back, would put it off
		next = now.Add(chosen.next.Sub(now))
	}
	return next, errors.Join(m.pruneRevisions(chosen.revisions), m.pruneRecords(chosen.revisions), m.pruneObjects(chosen))
}

// Freeable is what Prune would free, with when the last of the generations may go
// that would stay only because they left `current` recently. It removes nothing.
func (m *Mirror) Freeable(keep Retention, now time.Time) (freed Space, last time.Time, err error) {
	all, _, err := m.survey(now)
	if err != nil {
		return Space{}, time.Time{}, err
	}
	chosen, err := m.choose(all, keep, now)
	if err != nil {
		return Space{}, time.Time{}, err
	}
	for _, g := range chosen.goes {
		freed.Inodes += GenerationInodes(len(g.Records))
	}
	paths, err := m.objectPaths()
	for _, path := range paths {
		var st unix.Stat_t
		if !chosen.keeps(path) && unix.Lstat(path, &st) == nil {
			freed.Bytes += st.Blocks * 512 // the unit of stat(2), whatever the file system's
			freed.Inodes++
		}
	}
	return freed, chosen.last, err
}

// choice is what a pruning takes and leaves.
type choice struct {
	goes       []Generation               // the newest first
	next, last time.Time                  // when the first and the last may go that stay only for a time; zero for none
	revisions  map[string]bool            // keys of those that stay
	objects    map[manifest.ObjectID]bool // those that stay
	unknown    bool                       // Retention.Unknown
	released   map[manifest.ObjectID]bool // those that the generations that go have shown
}

// keeps is true when the file of an object stays. A file that no object can have
// is kept only while the state is unknown.
func (c choice) keeps(path string) bool {
	id, err := manifest.ParseObjectID(filepath.Base(path))
	return err == nil && c.objects[id] || c.unknown && !c.released[id]
}

func (m *Mirror) choose(all []Generation, keep Retention, now time.Time) (choice, error) {
	retained, err := m.retained(all, keep)
	if err != nil {
		return choice{}, err
	}
	c := choice{revisions: map[string]bool{}, objects: map[manifest.ObjectID]bool{}, unknown: keep.Unknown, released: map[manifest.ObjectID]bool{}}
	maps.Copy(c.objects, keep.Objects)
	for _, record := range retained {
		c.stay(record)
	}
	for i, f := range m.decide(all, retained, keep.For, now) {
		if !f.stays {
			c.leave(all[i])
			continue
		}
		c.await(f.until)
		for _, record := range all[i].Records {
			c.stay(record)
		}
	}
	return c, nil
}

func (c *choice) stay(record Record) {
	c.revisions[record.key()] = true
	for _, f := range record.Files {
		c.objects[f.Object] = true
	}
}

func (c *choice) leave(g Generation) {
	c.goes = append(c.goes, g)
	for _, record := range g.Records {
		for _, f := range record.Files {
			c.released[f.Object] = true
		}
	}
}

func (c *choice) await(until time.Time) {
	if until.IsZero() {
		return
	}
	if c.next.IsZero() || until.Before(c.next) {
		c.next = until
	}
	if until.After(c.last) {
		c.last = until
	}
}

// survey reads the current generation and those before it, the newest first, and
// the numbers of what is beside them and of no use: unfinished generations and
// damaged ones. One that cannot be read may be whole, and then nothing may go.
func (m *Mirror) survey(now time.Time) (all []Generation, useless []int, err error) {
	current := m.Current().Number
	numbers, err := m.numbers()
	if err != nil {
		return nil, nil, err
	}
	for _, n := range slices.Backward(numbers) {
		g, err := m.readGeneration(n)
		switch {
		case n > current || n < current && errors.Is(err, errDamaged):
			useless = append(useless, n)
		case err != nil:
			return nil, nil, fmt.Errorf("generation %d cannot be read, nothing is pruned: %w", n, err)
		default:
			all = append(all, g)
		}
	}
	if current > 0 && (len(all) == 0 || all[0].Number != current) {
		return nil, nil, fmt.Errorf("generation %d, the current one, is gone: nothing is pruned", current)
	}
	m.mendTimes(all, now)
	return all, useless, nil
}

// clockSlack is how far in the future a time may lie before it is one of a clock
// that was wrong: file systems and NTP are off by less.
const clockSlack = time.Minute

// mendTimes gives generations from the future, of a clock that was ahead and was
// put right, the present time: else nothing could go until the clock gets there.
func (m *Mirror) mendTimes(all []Generation, now time.Time) {
	for i, g := range all {
		if !g.PublishedAt.After(now.Add(clockSlack)) {
			continue
		}
		all[i].PublishedAt = now
		m.came(g.Number, now)
		if i+1 < len(all) {
			m.leaves(all[i+1].Number, now)
		}
	}
}

// came notes on disk when a generation came into service, for the processes after
// this one. Where that fails, its folder has the time at which it was built.
func (m *Mirror) came(number int, at time.Time) {
	_ = os.Chtimes(m.path("generations", generationName(number)), time.Time{}, at)
}

// leaves notes when a generation left `current`, unless that is known.
func (m *Mirror) leaves(number int, at time.Time) {
	if _, known := m.left[number]; !known {
		m.left[number] = at
	}
}

// leftAt is when all[i], the newest first, left `current`. What this process has
// seen itself is right whatever the clock did since.
func (m *Mirror) leftAt(all []Generation, i int) time.Time {
	if at, known := m.left[all[i].Number]; known {
		return at
	}
	return all[i-1].PublishedAt
}

// fate is whether a generation stays, and until when if that is only because it
// left `current` recently.
type fate struct {
	stays bool
	until time.Time
}

// decide chooses which of all, newest first, stay: the current one, those that
// left `current` too recently, and one for each set of retained revisions.
func (m *Mirror) decide(all []Generation, retained map[string]Record, recent time.Duration, now time.Time) []fate {
	fates := make([]fate, len(all))
	seen := map[string]bool{}
	for i, g := range all {
		views := g.views()
		lasting := i == 0 || !seen[views] && isRetained(g, retained) // the current generation is first
		seen[views] = seen[views] || lasting
		if lasting {
			fates[i].stays = true
			continue
		}
		if until := m.leftAt(all, i).Add(recent); now.Before(until) {
			fates[i] = fate{stays: true, until: until}
		}
	}
	return fates
}

func isRetained(g Generation, retained map[string]Record) bool {
	for _, record := range g.Records {
		if _, ok := retained[record.key()]; !ok {
			return false
		}
	}
	return true
}

// retained chooses, for each manifest that is served, the served revision and
// the ones most recently served before it, whether a generation still shows them
// or not.
func (m *Mirror) retained(all []Generation, keep Retention) (map[string]Record, error) {
	retained := map[string]Record{}
	for name, served := range m.Current().Records {
		retained[served.key()] = served
		records, err := m.revisionsOf(name, all)
		if err != nil {
			return nil, err
		}
		records = slices.DeleteFunc(records, func(r Record) bool { return r.ID() == served.ID() })
		for _, record := range records[:min(keep.beside(name), len(records))] {
			retained[record.key()] = record
		}
	}
	return retained, nil
}

// key identifies a revision among all manifests, as its path below `revisions`.
func (r Record) key() string { return filepath.Join(r.Manifest, r.ID()) }

// views is a text that is equal for generations that show the same revisions.
func (g Generation) views() string {
	var text string
	for _, name := range g.Names() {
		text += name + "/" + g.Records[name].ID() + "\n"
	}
	return text
}

func (m *Mirror) pruneRevisions(keep map[string]bool) error {
	dirs, err := filepath.Glob(filepath.Join(globEscape(m.path("revisions")), "*", "*"))
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		name, relErr := filepath.Rel(m.path("revisions"), dir)
		if relErr == nil && !keep[name] {
			err = errors.Join(err, fsops.RemoveTree(dir))
			fsops.Remove(filepath.Dir(dir)) // fails while other revisions of the manifest are there
		}
	}
	return err
}

func (m *Mirror) pruneObjects(chosen choice) error {
	paths, err := m.objectPaths()
	for _, path := range paths {
		if !chosen.keeps(path) {
			err = errors.Join(err, fsops.Remove(path))
		}
	}
	return err
}

// objectPaths are the files where objects lie, whatever their names.
func (m *Mirror) objectPaths() ([]string, error) {
	return filepath.Glob(filepath.Join(globEscape(m.path("objects")), "*", "*"))
}
