package mirror

import (
	"errors"
	"fmt"
	"time"

	"syncd/internal/disk/datadir"
	"syncd/internal/disk/durable"
	"syncd/internal/mirror/permissions"
)

// Mirror is a data directory. Its parts lie in directories of their own; a change that
// needs several of them is a method of Mirror. Current, Generations.Intact, the methods of
// Objects that say so, and all methods that only read are safe for concurrent use. The
// caller runs one of the other methods at a time.
type Mirror struct {
	*folder
	Objects     *Objects
	Trees       *Trees
	Records     *Records
	Generations *Generations

	// Served is called after each swap, by the goroutine that published. It is set before
	// the first Publish; nil means not at all.
	Served func(Generation)
}

// Open reads the data directory dir as it is, which may be empty or missing, and
// changes nothing. It refuses one that is not safe, see package datadir.
func Open(dir string, disk *durable.Disk) (*Mirror, error) {
	d := &folder{dir: dir, disk: disk, grants: permissions.NewGrants(permissions.Default())}
	objects := &Objects{folder: d, directories: map[string]dirState{}}
	generations := &Generations{folder: d, left: map[int]time.Time{}}
	m := &Mirror{
		folder: d, Objects: objects, Generations: generations,
		Trees:   &Trees{folder: d, objects: objects, generations: generations},
		Records: &Records{folder: d, generations: generations},
	}
	var err error
	if d.root, err = datadir.Open(dir); err != nil && !isGone(err) {
		return m, err
	}
	number, err := generations.readCurrent()
	if err != nil || number == 0 {
		return m, err
	}
	current, err := generations.read(number)
	if err != nil {
		return m, &BrokenError{Generation: number, Err: err}
	}
	generations.setCurrent(current)
	return m, nil
}

// Current returns the generation that is served. Its records are shared: read only.
func (m *Mirror) Current() Generation { return m.Generations.Current() }

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
	return errors.Join(m.Objects.close(), m.root.Close())
}
