package syncer

import (
	"context"
	"slices"
	"sync"

	"syncd/internal/clients/releases"
	"syncd/internal/disk/space"
	"syncd/internal/manifest"
	"syncd/internal/report"
	"syncd/internal/store"
	"syncd/internal/syncer/adopt"
	"syncd/internal/syncer/download"
	"syncd/internal/syncer/repair"
)

// Shared is what all Syncers of a data directory share. It outlives them: after a
// reload, syncs of the earlier Syncer still run beside those of the new one. Safe for
// concurrent use.
type Shared struct {
	downloads download.Pool
	adopting  adopt.Ledger
	repairs   repair.Running
	lists     *releases.Room // until there are plans
	described keys           // earlier revisions that the provider was asked about

	mu   sync.Mutex // guards what follows; never held across disk or network
	runs map[*run]struct{}
}

// NewShared returns the Shared of one data directory.
func NewShared() *Shared {
	return &Shared{lists: releases.NewRoom(), runs: map[*run]struct{}{}}
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

// Planned implements room.Keeper. A sync's own plan is newer than what the state has of its
// manifest.
func (s *Shared) Planned(planned map[string][]store.Planned) (partials map[string]bool) {
	for _, j := range s.jobs() {
		if plan, replaces := j.keeps(); replaces {
			planned[j.target.Name] = plan
		} else {
			planned[j.target.Name] = append(planned[j.target.Name], plan...)
		}
	}
	planned[""] = append(planned[""], s.repairs.Planned()...)
	return s.adopting.Partials()
}

// Abandon implements golive.Running. A job that is asking yet finds out before it plans.
func (s *Shared) Abandon(ctx context.Context, name string, release manifest.Release, contents []manifest.Digest) error {
	wanted := map[manifest.Digest]bool{}
	for _, j := range s.jobs() {
		if j.target.Name == name {
			abandon(j, release)
		}
		plan, _ := j.keeps()
		for _, w := range plan {
			wanted[w.Expected] = true
		}
	}
	contents = slices.DeleteFunc(slices.Clone(contents), func(d manifest.Digest) bool { return wanted[d] })
	return s.downloads.Wait(ctx, contents)
}

// abandon ends a job that fetches a release. Its downloads end that no other job wants.
func abandon(j *job, release manifest.Release) {
	j.mu.Lock()
	defer j.mu.Unlock()
	l := &j.life
	if l.end != nil || l.recorded || l.release != release {
		return
	}
	l.abandoned = true
	j.endLocked(&end{result: report.Unchanged})
	if l.fetch != nil && l.fetch.abort != nil {
		l.fetch.abort(errAborted)
	}
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
