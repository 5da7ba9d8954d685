package mirror

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Retention says what stays on disk beside what is served.
type Retention struct {
	Revisions int             // of each served manifest, beside the served one
	For       time.Duration   // nothing goes sooner than this after it left `current`
	Objects   map[string]bool // SHA-256 of objects that unfinished syncs have proven
}

// Prune removes generations, revisions and objects that nothing keeps, in this
// order, so that a crash leaves no generation without its revisions and no
// revision without its objects. It returns when the next generation may go that
// stays now only because it left `current` recently; the zero time for none.
func (m *Mirror) Prune(keep Retention, now time.Time) (next time.Time, err error) {
	all, err := m.survey()
	if err != nil {
		return now, err
	}
	retained, err := m.retained(all, keep.Revisions)
	if err != nil {
		return now, err
	}
	fates := decide(all, m.Current().Number, retained, keep.For, now)
	revisions, objects := map[string]bool{}, map[string]bool{}
	stay := func(record Record) {
		revisions[record.key()] = true
		for _, f := range record.Files {
			objects[f.SHA256] = true
		}
	}
	for _, record := range retained {
		stay(record)
	}
	for i, g := range all {
		if !fates[i].stays {
			err = errors.Join(err, m.disk.RemoveTree(m.path("generations", generationName(g.Number))))
			continue
		}
		if due := fates[i].until; !due.IsZero() && (next.IsZero() || due.Before(next)) {
			next = due
		}
		for _, record := range g.Records {
			stay(record)
		}
	}
	if err != nil { // a generation that could not go still needs what it links to
		return now, err
	}
	return next, errors.Join(m.pruneRevisions(revisions), m.pruneRecords(revisions), m.pruneObjects(objects, keep.Objects))
}

// survey reads the current generation and those before it, the newest first, and
// removes what is beside them: unfinished generations and damaged ones. One that
// cannot be read may be whole, and then nothing may go.
func (m *Mirror) survey() ([]Generation, error) {
	current := m.Current().Number
	numbers, err := m.numbers()
	if err != nil {
		return nil, err
	}
	var all []Generation
	var useless []int
	for _, n := range slices.Backward(numbers) {
		g, err := m.readGeneration(n)
		switch {
		case n > current || n < current && errors.Is(err, errDamaged):
			useless = append(useless, n)
		case err != nil:
			return nil, fmt.Errorf("generation %d cannot be read, nothing is pruned: %w", n, err)
		default:
			all = append(all, g)
		}
	}
	if current > 0 && (len(all) == 0 || all[0].Number != current) {
		return nil, fmt.Errorf("generation %d, the current one, is gone: nothing is pruned", current)
	}
	for _, n := range useless {
		err = errors.Join(err, m.disk.RemoveTree(m.path("generations", generationName(n))))
	}
	return all, err
}

// fate is whether a generation stays, and until when if that is only because it
// left `current` recently.
type fate struct {
	stays bool
	until time.Time
}

// decide chooses which of all, newest first, stay: the current one, those that
// left `current` too recently, and one for each set of retained revisions.
func decide(all []Generation, current int, retained map[string]Record, recent time.Duration, now time.Time) []fate {
	fates := make([]fate, len(all))
	seen := map[string]bool{}
	for i, g := range all {
		views := g.views()
		lasting := g.Number == current || !seen[views] && isRetained(g, retained)
		seen[views] = seen[views] || lasting
		if lasting {
			fates[i].stays = true
			continue
		}
		left := all[i-1].PublishedAt // the current generation is first, and lasting
		if until := left.Add(recent); now.Before(until) {
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
func (m *Mirror) retained(all []Generation, beside int) (map[string]Record, error) {
	retained := map[string]Record{}
	for name, served := range m.Current().Records {
		retained[served.key()] = served
		records, err := m.revisionsOf(name, all)
		if err != nil {
			return nil, err
		}
		records = slices.DeleteFunc(records, func(r Record) bool { return r.ID() == served.ID() })
		for _, record := range records[:min(beside, len(records))] {
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
			err = errors.Join(err, m.disk.RemoveTree(dir))
			os.Remove(filepath.Dir(dir)) // fails while other revisions of the manifest are there
		}
	}
	return err
}

func (m *Mirror) pruneObjects(keep, proven map[string]bool) error {
	paths, err := filepath.Glob(filepath.Join(globEscape(m.path("objects")), "*", "*"))
	if err != nil {
		return err
	}
	for _, path := range paths {
		if name := filepath.Base(path); !keep[name] && !proven[name] {
			err = errors.Join(err, os.Remove(path))
		}
	}
	return err
}
