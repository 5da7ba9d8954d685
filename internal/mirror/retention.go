package mirror

import (
	"maps"
	"path/filepath"
	"time"

	"syncd/internal/manifest"
)

// Retention says what stays on disk in addition to the current generation.
type Retention struct {
	Revisions int                        // earlier ones of each served manifest
	Displaced map[string]bool            // manifests that keep one revision fewer, because a new one is about to displace it
	For       time.Duration              // how long everything stays after it left `current`
	Objects   map[manifest.ObjectID]bool // wanted by unfinished syncs
	Staged    []Record                   // revisions that no generation shows yet
	Views     []string                   // keys of trees that show them
	Unknown   bool                       // Objects may be incomplete: remove only objects that were served
	Asked     map[string]time.Time       // revisions that other hosts use, by Key, and until when; the zero time for as long as they are here

	// Retire is called with what stays before anything is removed. False means that
	// Asked has changed, and nothing is removed. Nil allows all.
	Retire func(stays func(key string) bool) bool
}

// earlier returns how many earlier revisions of a manifest stay.
func (keep Retention) earlier(name string) int {
	if keep.Displaced[name] {
		return max(keep.Revisions-1, 0)
	}
	return keep.Revisions
}

// choice says what pruning removes and keeps.
type choice struct {
	dropped    []Generation               // the newest first
	next, last time.Time                  // the first and the last end of Retention.For among the kept generations; zero if none waits for it
	revisions  map[string]bool            // keys of the kept ones
	views      map[string]bool            // keys of the kept ones
	objects    map[manifest.ObjectID]bool // the kept ones
	unknown    bool                       // Retention.Unknown
	released   map[manifest.ObjectID]bool // shown by the dropped generations
}

// keeps is true when the file of an object stays. A file with another name than an
// object stays only while the wanted objects are not all known.
func (c choice) keeps(path string) bool {
	id, err := manifest.ParseObjectID(filepath.Base(path))
	return err == nil && c.objects[id] || c.unknown && !c.released[id]
}

func (m *Mirror) choose(all []Generation, keep Retention, now time.Time) (choice, error) {
	retained, asked, err := m.Records.retained(all, keep)
	if err != nil {
		return choice{}, err
	}
	c := choice{revisions: map[string]bool{}, views: map[string]bool{}, objects: map[manifest.ObjectID]bool{}, unknown: keep.Unknown, released: map[manifest.ObjectID]bool{}}
	maps.Copy(c.objects, keep.Objects)
	for _, record := range retained {
		c.keep(record)
	}
	for _, record := range keep.Staged {
		c.keep(record)
	}
	for _, record := range asked {
		c.keep(record)
		c.waitUntil(keep.Asked[record.Key()])
	}
	for _, key := range keep.Views {
		c.views[key] = true
	}
	for i, v := range m.Generations.decide(all, retained, keep.For, now) {
		if !v.stays {
			c.drop(all[i])
			continue
		}
		c.waitUntil(v.until)
		for _, record := range all[i].Records {
			c.keep(record)
		}
		for _, view := range all[i].Views {
			c.keepView(view)
		}
	}
	return c, nil
}

func (c *choice) keep(record Record) {
	c.revisions[record.Key()] = true
	for _, f := range record.Files {
		c.objects[f.Object] = true
	}
}

func (c *choice) keepView(view View) {
	c.views[view.Key()] = true
	for _, f := range view.Files {
		c.objects[f.Object] = true
	}
}

func (c *choice) drop(g Generation) {
	c.dropped = append(c.dropped, g)
	for _, record := range g.Records {
		for _, f := range record.Files {
			c.released[f.Object] = true
		}
	}
	for _, view := range g.Views {
		for _, f := range view.Files {
			c.released[f.Object] = true
		}
	}
}

// waitUntil notes a generation that stays only because it left `current` recently,
// and when that ends. The zero time means that it stays for another reason.
func (c *choice) waitUntil(until time.Time) {
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
