package mirror

import (
	"bytes"
	"cmp"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"syncd/internal/manifest"
)

// Retention says what stays on disk in addition to the current generation.
type Retention struct {
	Revisions int                        // earlier ones of each served manifest
	Displaced map[string]bool            // manifests that keep one revision fewer, because a new one is about to displace it
	For       time.Duration              // how long everything stays after it left `current`
	Objects   map[manifest.ObjectID]bool // wanted by unfinished syncs
	Withdrawn []string                   // manifests that would be served, had their data not expired
	Staged    []Record                   // revisions that no generation shows yet
	Views     []string                   // keys of trees that show them
	Unknown   bool                       // Objects may be incomplete: remove only objects that were served
	Asked     map[string]Asked           // revisions that other hosts use, by Key

	AskedBytes int64 // that the revisions in Asked may take beside all else; 0 for no limit
	Yield      int   // so many of those that would stay give way, the last ones by their turn

	// Retire is called with what stays before anything is removed. False means that
	// Asked has changed, and nothing is removed. Nil allows all.
	Retire func(stays func(key string) bool) bool
}

// Asked says how long other hosts use a revision.
type Asked struct {
	Until time.Time // the zero time for as long as they are here, whatever it takes
	Turn  int       // a lower one stays first; among equals the later Until
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
	dropped    []Generation    // the newest first
	next, last time.Time       // the first and the last end of Retention.For among the kept generations; zero if none waits for it
	revisions  map[string]bool // keys of the kept ones
	views      map[string]bool // keys of the kept ones
	objects    objectSet       // the kept ones
	unknown    bool            // Retention.Unknown
	released   objectSet       // shown by the dropped generations
}

// keeps is true when the file of an object stays. A file with another name than an
// object stays only while the wanted objects are not all known.
func (c *choice) keeps(path string) bool {
	id, err := manifest.ParseObjectID(filepath.Base(path))
	return err == nil && c.objects.has(id) || c.unknown && !c.released.has(id)
}

func (m *Mirror) choose(all []Generation, keep Retention, now time.Time) (*choice, error) {
	retained, asked, err := m.Records.retained(all, keep)
	if err != nil {
		return nil, err
	}
	c := &choice{revisions: map[string]bool{}, views: map[string]bool{}, unknown: keep.Unknown}
	for id := range keep.Objects {
		c.objects.add(id)
	}
	for _, record := range retained {
		c.keep(record)
	}
	for _, record := range keep.Staged {
		c.keep(record)
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
	c.keepAsked(asked, keep)
	return c, nil
}

// keepAsked keeps the revisions that other hosts use, as many as fit beside all else.
func (c *choice) keepAsked(asked []Record, keep Retention) {
	claim := func(r Record) Asked { return keep.Asked[r.Key()] }
	slices.SortFunc(asked, func(a, b Record) int {
		return cmp.Or(cmp.Compare(claim(a).Turn, claim(b).Turn), claim(b).Until.Compare(claim(a).Until), cmp.Compare(a.Key(), b.Key()))
	})
	asked = slices.DeleteFunc(asked, func(r Record) bool {
		needed := claim(r).Until.IsZero()
		if needed {
			c.keep(r)
		}
		return needed
	})
	var fit []Record
	left, seen := keep.AskedBytes, map[manifest.ObjectID]bool{}
	for _, record := range asked {
		own, cost := map[manifest.ObjectID]bool{}, int64(0)
		for _, f := range record.Files {
			if !c.objects.has(f.Object) && !seen[f.Object] && !own[f.Object] {
				own[f.Object] = true
				cost += f.Size
			}
		}
		if keep.AskedBytes == 0 || cost <= left {
			left -= cost
			maps.Copy(seen, own)
			fit = append(fit, record)
		}
	}
	for _, record := range fit[:max(len(fit)-keep.Yield, 0)] {
		c.keep(record)
		c.waitUntil(claim(record).Until)
	}
}

func (c *choice) keep(record Record) {
	c.revisions[record.Key()] = true
	for _, f := range record.Files {
		c.objects.add(f.Object)
	}
}

func (c *choice) keepView(view View) {
	c.views[view.Key()] = true
	for _, f := range view.Files {
		c.objects.add(f.Object)
	}
}

func (c *choice) drop(g Generation) {
	c.dropped = append(c.dropped, g)
	for _, record := range g.Records {
		for _, f := range record.Files {
			c.released.add(f.Object)
		}
	}
	for _, view := range g.Views {
		for _, f := range view.Files {
			c.released.add(f.Object)
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

// objectSet is a set of objects in a third of the memory of a map. The zero value is empty.
type objectSet struct {
	ids    []manifest.ObjectID
	sorted int // so many of the first ids are sorted, and each is there once
}

func (s *objectSet) add(id manifest.ObjectID) {
	s.ids = append(s.ids, id)
	if len(s.ids) > 2*s.sorted+1024 { // generations name the same objects again and again
		s.sort()
	}
}

func (s *objectSet) has(id manifest.ObjectID) bool {
	if s.sorted < len(s.ids) {
		s.sort()
	}
	_, found := slices.BinarySearchFunc(s.ids, id, compareObjects)
	return found
}

func (s *objectSet) sort() {
	slices.SortFunc(s.ids, compareObjects)
	s.ids = slices.Compact(s.ids)
	s.sorted = len(s.ids)
}

func compareObjects(a, b manifest.ObjectID) int { return bytes.Compare(a[:], b[:]) }
