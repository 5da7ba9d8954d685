package bundles

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"syncd/internal/disk/fsops"
	"syncd/internal/downstream/believer"
	"syncd/internal/downstream/bundle"
	"syncd/internal/manifest"
)

const (
	// settled is how long a bundle must stay unchanged before it is taken: something may still
	// copy it.
	settled = 10 * time.Second
	// patience bounds the wait for that.
	patience = 3 * settled
	// maxFiles bounds how many files of a folder are looked at.
	maxFiles = 4096
)

// Folder is a folder in which bundles appear, such as the place of removable disks. Its files
// are only read. Safe for concurrent use.
type Folder struct {
	path string

	mu   sync.Mutex // guards what follows, also while the folder is read
	seen map[string]*file
}

// file is a file of the folder at the last look.
type file struct {
	stamp
	since time.Time // when it first was like this
	bundle.Volume
	isVolume bool
}

// stamp changes with a file's bytes.
type stamp struct {
	size, changed int64
	inode         uint64
}

// NewFolder returns the folder with a path. It reads nothing.
func NewFolder(path string) *Folder { return &Folder{path: path, seen: map[string]*file{}} }

// found is a bundle whose volumes are all there.
type found struct {
	id         manifest.ObjectID
	generation int
	paths      []string
	since      time.Time // when the last of them changed
	stamp      int64     // of the newest file
}

// newest returns the bundle with the newest generation; of several, one that was not taken.
// nil is for none. Volumes that lack others, and files that are no bundles, do not count.
func (d *Folder) newest(taken []manifest.ObjectID) (*found, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.lookLocked(); err != nil {
		return nil, err
	}
	groups := map[manifest.ObjectID]map[int]string{}
	for name, f := range d.seen {
		if !f.isVolume {
			continue
		}
		if groups[f.ID] == nil {
			groups[f.ID] = map[int]string{}
		}
		if before, twice := groups[f.ID][f.Volume.Number]; !twice || name < before {
			groups[f.ID][f.Volume.Number] = name
		}
	}
	var all []*found
	for id, volumes := range groups {
		if g := d.wholeLocked(id, volumes); g != nil {
			all = append(all, g)
		}
	}
	if len(all) == 0 {
		return nil, nil //nolint:nilnil // none is no error
	}
	return slices.MaxFunc(all, func(a, b *found) int {
		return cmp.Or(cmp.Compare(a.generation, b.generation), isNew(a, taken)-isNew(b, taken), cmp.Compare(a.stamp, b.stamp), strings.Compare(a.paths[0], b.paths[0]))
	}), nil
}

func isNew(f *found, taken []manifest.ObjectID) int {
	if slices.Contains(taken, f.id) {
		return 0
	}
	return 1
}

// wholeLocked returns a bundle if all its volumes are there.
func (d *Folder) wholeLocked(id manifest.ObjectID, volumes map[int]string) *found {
	g := &found{id: id}
	for number := 1; number <= len(volumes); number++ {
		name, there := volumes[number]
		f := d.seen[name]
		if !there || f.Volumes != len(volumes) {
			return nil
		}
		g.generation, g.paths = f.Generation, append(g.paths, filepath.Join(d.path, name))
		g.stamp = max(g.stamp, f.changed)
		if f.since.After(g.since) {
			g.since = f.since
		}
	}
	return g
}

// lookLocked looks at the files of the folder. A folder that is missing is empty: a disk may be
// mounted there later.
func (d *Folder) lookLocked() error {
	before := d.seen
	d.seen = map[string]*file{}
	dir, err := fsops.OpenDir(d.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("source.bundles: %w", err)
	}
	defer dir.Close() //nolint:errcheck // it was only read
	names, err := namesIn(dir)
	if err != nil {
		return fmt.Errorf("source.bundles: %w", err)
	}
	for _, name := range names {
		info, err := dir.Info(name)
		if err != nil || !info.IsRegular() || strings.HasPrefix(name, ".") { // hidden ones are temporary
			continue
		}
		now := stamp{info.Size(), info.ModTime(), info.Inode()}
		if known := before[name]; known != nil && known.stamp == now {
			d.seen[name] = known
			continue
		}
		f := &file{stamp: now, since: time.Now()}
		if v, err := bundle.Look(filepath.Join(d.path, name)); err == nil { // or else it is cut, or no bundle
			f.Volume, f.isVolume = v, true
		}
		d.seen[name] = f
	}
	return nil
}

// namesIn lists a folder. Another user may fill it with names that no memory holds: it stops at
// the first one that is too many.
func namesIn(dir *fsops.Dir) (names []string, err error) {
	err = dir.EachEntry(".", func(entry fs.DirEntry) error {
		if len(names) == maxFiles {
			return fmt.Errorf("%s has more than %d files: use a folder for bundles alone", dir.Path(), maxFiles)
		}
		names = append(names, entry.Name())
		return nil
	})
	return names, err
}

// Settled is the ID of the bundle that a sync would take by now; "" for none, or for one that
// still changes.
func (d *Folder) Settled() string {
	f, err := d.newest(nil)
	if err != nil || f == nil || time.Since(f.since) < settled {
		return ""
	}
	return f.id.String()
}

// Open opens the bundle that is to be taken. It waits until a bundle stays unchanged, but not
// for one that is not whole. Without any, the source offers what it offered before.
func (d *Folder) Open(ctx context.Context, cfg Config) (*Source, error) {
	carried, err := cfg.Store.Carried()
	if err != nil {
		return nil, err
	}
	f, err := d.settle(ctx, carried.IDs)
	if err != nil {
		return nil, err
	}
	if f == nil {
		return Open(nil, cfg, func() {})
	}
	how := bundle.Whole
	if slices.Contains(carried.IDs, f.id) {
		how = bundle.Texts // all of it was proven
	}
	if err := d.judge(ctx, f.paths, how, cfg); err != nil {
		return nil, err
	}
	return openFiles(ctx, f.paths, how, cfg)
}

// judge refuses a bundle that is not signed as the trust file asks, before its contents are read:
// whoever can write in the folder could keep this host reading for days.
func (d *Folder) judge(ctx context.Context, paths []string, how bundle.Reading, cfg Config) error {
	if cfg.Believer == nil || how == bundle.Texts {
		return nil
	}
	files, closeFiles, err := bundle.OpenFiles(paths)
	if err != nil {
		return err
	}
	defer closeFiles()
	b, err := bundle.Open(ctx, files, bundle.Texts)
	if err != nil {
		return err
	}
	err = cfg.Believer.Current(ctx, believer.Serving, b.Current, func(_ context.Context, version int) ([]byte, error) { return b.TrustText(version) })
	if err != nil {
		return fmt.Errorf("bundle %s: %w", files[0].Name, err)
	}
	return nil
}

// settle waits until the newest bundle stays unchanged. One that goes on changing does not
// count.
func (d *Folder) settle(ctx context.Context, taken []manifest.ObjectID) (*found, error) {
	for until := time.Now().Add(patience); ; {
		f, err := d.newest(taken)
		if err != nil || f == nil || slices.Contains(taken, f.id) {
			return f, err
		}
		left := settled - time.Since(f.since)
		if left <= 0 {
			return f, nil
		}
		if time.Now().After(until) {
			return nil, nil //nolint:nilnil // none is no error
		}
		select {
		case <-time.After(min(left, time.Second)):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}
