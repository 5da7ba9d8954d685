package lifespan

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"syncd/internal/disk/durable"
	"syncd/internal/disk/fsops"
	"syncd/internal/manifest"
	"syncd/internal/manifest/expiry"
	"syncd/internal/mirror/record"
)

const dir = "state/expiry"

// maxTold is for how many revisions of a manifest the told days are kept, the newest
// releases first. It is far more than stay on disk.
const maxTold = 100

// maxFile limits what is read, in bytes.
const maxFile = 1 << 20

// Facts are what is known of a manifest.
type Facts struct {
	Told      map[string]expiry.Day `json:"told,omitempty"`   // by the ID of the revision
	Forced    string                `json:"forced,omitempty"` // ID of the expired revision that the operator let go live; "" for none
	Withdrawn *Withdrawn            `json:"withdrawn,omitempty"`
}

// Withdrawn is an expired revision that left `current`.
type Withdrawn struct {
	Release     manifest.Release `json:"release"`
	Revision    string           `json:"revision"`
	Fingerprint string           `json:"fingerprint"` // of its expected digests
	Expired     expiry.Day       `json:"expired"`     // by the configuration of that time, which may be another one now
	At          time.Time        `json:"at"`
	Orders      record.Orders    `json:"orders,omitzero"`
}

// ID names the revision.
func (w Withdrawn) ID() string { return string(w.Release) + "-" + w.Revision }

// Register is the facts of a data directory. Safe for concurrent use.
type Register struct {
	root *fsops.Dir
	disk *durable.Disk

	writing sync.Mutex // held while files change; a change is on disk before it is in facts

	mu    sync.Mutex // guards facts; never held across the disk
	facts map[string]Facts
}

// Open reads the facts of a data directory, in which only this process writes.
func Open(root *fsops.Dir, disk *durable.Disk, warn func(string)) (*Register, error) {
	if err := root.SweepTemps(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	facts, err := read(root, warn)
	return &Register{root: root, disk: disk, facts: facts}, err
}

// Read returns the facts on disk, by manifest. It leaves out those that it cannot read.
func Read(root *fsops.Dir) (map[string]Facts, error) { return read(root, func(string) {}) }

func read(root *fsops.Dir, warn func(string)) (map[string]Facts, error) {
	facts := map[string]Facts{}
	names, err := root.Names(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return facts, nil
	}
	for _, name := range names {
		f, err := readOne(root, name)
		if err != nil {
			warn(fmt.Sprintf("the days that gates told of %s are lost, which its gate tells again for the next revision: %v", name, err))
			continue
		}
		facts[name] = f
	}
	return facts, err
}

func readOne(root *fsops.Dir, name string) (f Facts, err error) {
	file, err := root.OpenRegular(filepath.Join(dir, name))
	if err != nil {
		return f, err
	}
	defer file.Close()
	err = json.NewDecoder(io.LimitReader(file, maxFile)).Decode(&f)
	return f, err
}

// Get returns the facts of a manifest. They are shared: read only.
func (r *Register) Get(name string) Facts {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.facts[name]
}

// All returns the facts by manifest. They are shared: read only.
func (r *Register) All() map[string]Facts {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.facts)
}

// Tell makes the day durable that a gate told of a revision. It replaces what the gate told
// before.
func (r *Register) Tell(name, id string, day expiry.Day) error {
	return r.change(name, func(f *Facts) bool {
		if f.Told[id] == day {
			return false
		}
		f.Told = maps.Clone(f.Told)
		if f.Told == nil {
			f.Told = map[string]expiry.Day{}
		}
		f.Told[id] = day
		ids := slices.Sorted(maps.Keys(f.Told))
		for _, old := range ids[:max(len(ids)-maxTold, 0)] {
			delete(f.Told, old)
		}
		return true
	})
}

// Force makes durable that the operator lets an expired revision go live.
func (r *Register) Force(name, id string) error {
	return r.change(name, func(f *Facts) bool {
		changes := f.Forced != id
		f.Forced = id
		return changes
	})
}

// Withdraw makes durable that an expired revision leaves `current`.
func (r *Register) Withdraw(name string, w Withdrawn) error {
	return r.change(name, func(f *Facts) bool {
		f.Withdrawn, f.Forced = &w, ""
		return true
	})
}

// Order makes the operator's orders about a withdrawn manifest durable.
func (r *Register) Order(name string, orders record.Orders) error {
	return r.change(name, func(f *Facts) bool {
		if f.Withdrawn == nil || f.Withdrawn.Orders.Equal(orders) {
			return false
		}
		w := *f.Withdrawn
		w.Orders = orders
		f.Withdrawn = &w
		return true
	})
}

// Served forgets what does not hold any more once a revision is served.
func (r *Register) Served(name, id string) error {
	return r.change(name, func(f *Facts) bool {
		changes := f.Withdrawn != nil || f.Forced != "" && f.Forced != id
		f.Withdrawn = nil
		if f.Forced != id {
			f.Forced = ""
		}
		return changes
	})
}

// Forget forgets what the operator allowed for a manifest that left. The days that gates told
// stay.
func (r *Register) Forget(name string) error {
	return r.change(name, func(f *Facts) bool {
		changes := f.Withdrawn != nil || f.Forced != ""
		f.Withdrawn, f.Forced = nil, ""
		return changes
	})
}

// change changes the facts of a manifest, first on disk. do returns false if nothing changes.
func (r *Register) change(name string, do func(*Facts) bool) error {
	r.writing.Lock()
	defer r.writing.Unlock()
	f := r.Get(name)
	if !do(&f) {
		return nil
	}
	if err := r.root.EnsureDir(dir, 0o700); err != nil {
		return err
	}
	if err := r.disk.SyncDir(r.root, filepath.Dir(dir)); err != nil {
		return err
	}
	write := func(w io.Writer) error { return json.NewEncoder(w).Encode(f) }
	if err := r.disk.ReplaceFile(r.root, filepath.Join(dir, name), 0o600, write); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.facts[name] = f
	return nil
}
