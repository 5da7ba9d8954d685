package mirror

import (
	"maps"
	"path/filepath"
	"slices"
	"time"

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
