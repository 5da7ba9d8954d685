package scrub

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"

	"syncd/internal/disk/fsops"
	"syncd/internal/host/rate"
	"syncd/internal/manifest"
	"syncd/internal/store"
)

const (
	sliceBytes = 16 << 20 // a slice ends after so many bytes,
	sliceTime  = time.Second
	saveEvery  = 30 * time.Second // a kill costs at most what is read in this time
)

// Objects are the objects on disk. An object can vanish at any time.
type Objects interface {
	In(directory byte) ([]manifest.ObjectID, error) // sorted
	Info(id manifest.ObjectID) (info fsops.Info, there bool)
	Open(id manifest.ObjectID) (*os.File, error)
}

// Config is what a Scrubber needs.
type Config struct {
	Objects Objects
	Missing func() []manifest.ObjectID // objects of served files that are not on disk
	Rate    *rate.Budget               // of all reads
	Save    func(store.Scrub) error
	// Repair replaces a damaged object by a proven copy, and returns the name of a file
	// that has this content. It returns the context's cause when that ends. isNew is false
	// for damage that it could not repair before.
	Repair func(ctx context.Context, id manifest.ObjectID, damage error, isNew bool) (file string, err error)
	Read   func(bytes int64) // told what was read
}

// Scrubber re-reads the objects. One goroutine calls Begin, Slice, Retry and Close;
// Progress may be called at any time.
type Scrubber struct {
	cfg       Config
	directory []manifest.ObjectID // objects of the present directory that are not done
	object    *reading            // nil between two objects
	savedAt   time.Time

	mu    sync.Mutex // guards what follows
	state store.Scrub
}

// New returns a Scrubber that goes on where saved says.
func New(cfg Config, saved store.Scrub) *Scrubber {
	s := &Scrubber{cfg: cfg, state: saved, savedAt: time.Now()}
	if saved.Part != nil { // its bytes count again once they are known to be the same
		s.state.Bytes -= saved.Part.Bytes
	}
	return s
}

// Progress returns how far the scrub has come.
func (s *Scrubber) Progress() store.Scrub {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := s.state
	state.Left = slices.Clone(state.Left)
	return state
}

func (s *Scrubber) change(f func(*store.Scrub)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.state)
}

// Begin starts a scrub of all objects.
func (s *Scrubber) Begin(ctx context.Context) error {
	before := s.Progress()
	begun := store.Scrub{StartedAt: time.Now().UTC(), CompletedAt: before.CompletedAt, Left: before.Left}
	for directory := range 256 {
		ids, err := s.cfg.Objects.In(byte(directory))
		if err != nil {
			return err
		}
		for _, id := range ids {
			if info, there := s.cfg.Objects.Info(id); there {
				begun.TotalObjects++
				begun.TotalBytes += info.Size()
			}
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	s.closeObject()
	s.directory = nil
	s.change(func(state *store.Scrub) { *state = begun })
	return s.save()
}

// Slice re-reads some objects. It returns true when the scrub has ended. After an error
// or the context's end, the next slice goes on with the same bytes.
func (s *Scrubber) Slice(ctx context.Context) (ended bool, err error) {
	began, read := time.Now(), int64(0)
	for read < sliceBytes && time.Since(began) < sliceTime {
		if ctx.Err() != nil {
			return false, errors.Join(context.Cause(ctx), s.save())
		}
		if s.object == nil {
			found, err := s.next()
			if err != nil {
				return false, err
			}
			if !found {
				if err := s.repairMissing(ctx); err != nil {
					return false, errors.Join(err, s.save())
				}
				s.change(end)
				return true, s.save()
			}
		}
		n, err := s.read(ctx)
		read += n
		if err != nil {
			return false, errors.Join(err, s.save())
		}
	}
	if time.Since(s.savedAt) < saveEvery {
		return false, nil
	}
	return false, s.save()
}

// repairMissing repairs the objects that the directories should list, and do not.
func (s *Scrubber) repairMissing(ctx context.Context) error {
	for _, id := range s.cfg.Missing() {
		file, err := s.cfg.Objects.Open(id)
		if err == nil { // it came back meanwhile
			file.Close()
			continue
		}
		if err := s.repair(ctx, id, err); err != nil {
			return err
		}
	}
	return nil
}

// end ends a scrub. Damaged objects that it did not find were removed.
func end(state *store.Scrub) {
	state.FinishedAt, state.Part = time.Now().UTC(), nil
	state.CompletedAt = state.FinishedAt
	state.Left = slices.DeleteFunc(state.Left, func(d store.ScrubDamage) bool { return d.At.Before(state.StartedAt) })
}

// next opens the next object. It returns false when there is none.
func (s *Scrubber) next() (bool, error) {
	for {
		id, found, err := s.nextID()
		if err != nil || !found {
			return false, err
		}
		object, err := open(s.cfg.Objects, id, s.state.Part)
		if errors.Is(err, fs.ErrNotExist) { // pruned meanwhile
			s.done(id)
			continue
		}
		if err != nil && !isDamage(err) {
			return false, err
		}
		s.object = object
		if err != nil {
			s.object = &reading{id: id, err: err}
		}
		s.change(func(state *store.Scrub) { state.Bytes, state.Part = state.Bytes+s.object.bytes, nil })
		return true, nil
	}
}

// nextID returns the first object after the last one that is done.
func (s *Scrubber) nextID() (id manifest.ObjectID, found bool, err error) {
	last := s.Progress().Last
	for directory := int(last[0]); len(s.directory) == 0; directory++ {
		if directory > 255 {
			return id, false, nil
		}
		if s.directory, err = s.cfg.Objects.In(byte(directory)); err != nil {
			return id, false, err
		}
		s.directory = slices.DeleteFunc(s.directory, func(id manifest.ObjectID) bool { return bytes.Compare(id[:], last[:]) <= 0 })
	}
	return s.directory[0], true, nil
}

// done goes on to the object after this one.
func (s *Scrubber) done(id manifest.ObjectID) {
	s.directory = s.directory[1:]
	s.change(func(state *store.Scrub) { state.Last = id })
}

// read reads a piece of the open object, and settles the object after its last one.
func (s *Scrubber) read(ctx context.Context) (int64, error) {
	n, isLast := s.object.read(s.cfg.Rate.Most())
	s.change(func(state *store.Scrub) { state.Bytes += n })
	s.cfg.Read(n)
	if isLast {
		if err := s.settle(ctx); err != nil {
			return n, err
		}
	}
	return n, s.cfg.Rate.Wait(ctx, int(n))
}

// settle ends the open object, and has it repaired if it is damaged.
func (s *Scrubber) settle(ctx context.Context) error {
	id, damage := s.object.id, s.object.check()
	if damage != nil {
		if err := s.repair(ctx, id, damage); err != nil {
			return err
		}
	}
	s.object.close()
	s.object = nil
	s.change(func(state *store.Scrub) {
		state.Objects++
		if damage == nil { // it was damaged in the scrub before
			drop(state, id)
		}
	})
	s.done(id)
	return nil
}

// drop forgets damage.
func drop(state *store.Scrub, id manifest.ObjectID) {
	state.Left = slices.DeleteFunc(state.Left, func(d store.ScrubDamage) bool { return d.Object == id })
}

// repair notes the damage and whether it was repaired. It returns an error only when the
// context has ended.
func (s *Scrubber) repair(ctx context.Context, id manifest.ObjectID, damage error) error {
	isKnown := slices.ContainsFunc(s.Progress().Left, func(d store.ScrubDamage) bool { return d.Object == id })
	file, err := s.cfg.Repair(ctx, id, damage, !isKnown)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	s.change(func(state *store.Scrub) {
		state.Damaged++
		drop(state, id)
		if err == nil {
			state.Repaired++
			return
		}
		now := time.Now().UTC()
		if now.Before(state.StartedAt) { // the clock was set back; end must not drop this
			now = state.StartedAt
		}
		state.Left = append(state.Left, store.ScrubDamage{Object: id, File: file, Error: fmt.Sprintf("%v; not repaired: %v", damage, err), At: now})
	})
	return nil
}

// Retry tries again to repair what could not be repaired.
func (s *Scrubber) Retry(ctx context.Context) error {
	for _, left := range s.Progress().Left {
		object, err := open(s.cfg.Objects, left.Object, nil)
		damage := err
		if err == nil {
			damage = object.readAll(ctx, s.cfg.Rate)
			object.close()
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		isGone := errors.Is(err, fs.ErrNotExist) && !slices.Contains(s.cfg.Missing(), left.Object) // no revision needs it any more
		if damage != nil && !isGone {
			_, err = s.cfg.Repair(ctx, left.Object, damage, false)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil && !isGone {
			continue
		}
		s.change(func(state *store.Scrub) {
			state.Repaired++
			drop(state, left.Object)
		})
	}
	return s.save()
}

// save records the progress, with the part of the open object that was read.
func (s *Scrubber) save() error {
	state := s.Progress()
	if s.object != nil {
		state.Part = s.object.part()
		if state.Part == nil { // those bytes will be read again
			state.Bytes -= s.object.bytes
		}
	}
	err := s.cfg.Save(state)
	if err == nil {
		s.savedAt = time.Now()
	}
	return err
}

// Close saves the progress.
func (s *Scrubber) Close() error {
	if !s.Progress().IsRunning() {
		return nil
	}
	err := s.save()
	s.closeObject()
	return err
}

// closeObject closes the open object.
func (s *Scrubber) closeObject() {
	if s.object != nil {
		s.object.close()
		s.object = nil
	}
}
