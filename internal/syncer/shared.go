package syncer

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/semaphore"

	"syncd/internal/clients/releases"
	"syncd/internal/disk/space"
	"syncd/internal/golive/room"
	"syncd/internal/host/claims"
	"syncd/internal/manifest"
	"syncd/internal/store"
	"syncd/internal/syncer/adopt"
	"syncd/internal/syncer/download"
)

// Shared is what all Syncers of a data directory share. It outlives them: after a
// reload, syncs of the earlier Syncer still run beside those of the new one. Safe for
// concurrent use.
type Shared struct {
	turn      chan struct{}          // holds one token while nothing changes the tree
	check     func() error           // fails when the data directory must not be changed
	newest    atomic.Pointer[Config] // of the Syncer that was made last
	room      *room.Room
	downloads download.Pool
	adopting  adopt.Ledger
	lists     *releases.Room // until there are plans
	exports   exports
	described keys                // earlier revisions that the provider was asked about
	gating    claims.Set          // manifests whose gate runs, or waits to run
	gates     *semaphore.Weighted // that run

	mu        sync.Mutex // guards what follows; never held across disk or network
	runs      map[*run]struct{}
	repairing map[manifest.ObjectID]bool // objects that repairs download
}

// maxGates is how many gates run at once. Each may read a whole revision.
const maxGates = 4

// NewShared returns the Shared of one data directory. check is called before each
// change; an error prevents it.
func NewShared(check func() error) *Shared {
	s := &Shared{turn: make(chan struct{}, 1), check: check, lists: releases.NewRoom(), runs: map[*run]struct{}{}, repairing: map[manifest.ObjectID]bool{}, gates: semaphore.NewWeighted(maxGates)}
	s.room = room.New(s)
	s.turn <- struct{}{}
	s.exports.turn = make(chan struct{}, 1)
	s.exports.turn <- struct{}{}
	return s
}

// change runs work that changes the tree, or that must not overlap with such work. It
// waits for the turn, so that one such work runs at a time. Downloads never run in it,
// which keeps the wait short.
func (s *Shared) change(ctx context.Context, work func() error) error {
	select {
	case <-s.turn:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { s.turn <- struct{}{} }()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := s.check(); err != nil {
		return err
	}
	return work()
}

func (s *Shared) begin(r *run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runs[r] = struct{}{}
}

func (s *Shared) end(r *run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.runs, r)
	if len(s.runs) == 0 {
		s.downloads.Forget()
	}
}

// jobs returns the jobs of all running syncs.
func (s *Shared) jobs() []*job {
	s.mu.Lock()
	defer s.mu.Unlock()
	var jobs []*job
	for r := range s.runs {
		jobs = append(jobs, r.jobs...)
	}
	return jobs
}

// Wanted implements room.Keeper. A sync's own plan is newer than what the state has of its
// manifest.
func (s *Shared) Wanted(wanted map[string][]store.Wanted) (partials map[string]bool) {
	for _, j := range s.jobs() {
		if plan, replaces := j.keeps(); replaces {
			wanted[j.target.Name] = plan
		} else {
			wanted[j.target.Name] = append(wanted[j.target.Name], plan...)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range s.repairing {
		wanted[""] = append(wanted[""], store.Wanted{Expected: id.Digest(), Object: id})
	}
	return s.adopting.Partials()
}

// Reserved implements room.Keeper. A dry run may have a manifest that is in a running sync,
// too.
func (s *Shared) Reserved(except []string) space.Amount {
	sum := s.adopting.Reserved()
	for _, j := range s.jobs() {
		if !slices.Contains(except, j.target.Name) {
			sum = sum.Plus(j.reserved())
		}
	}
	return sum
}

// repair notes that a repair downloads an object, until done is called.
func (s *Shared) repair(id manifest.ObjectID) (done func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.repairing[id] = true
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.repairing, id)
	}
}

// pruneIfDue removes what retention does not keep, if there may be something. At the
// context's end the next sync prunes.
func (s *Shared) pruneIfDue(ctx context.Context) {
	if !s.room.IsPruneDue() {
		return
	}
	_ = s.change(ctx, func() error {
		s.room.Prune(ctx, nil)
		return nil
	})
}
