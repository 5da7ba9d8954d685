package syncer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"syncd/internal/mirror"
	"syncd/internal/report"
	"syncd/internal/report/request"
	"syncd/internal/syncer/lockfile"
)

// readLock reads the lock file of a request, if it has one. It refuses a lock of another
// source, and one whose manifests are not the configured ones.
func (c *Config) readLock(req request.Sync, targets []Target) (*lockfile.Lock, error) {
	if len(req.Locked) == 0 {
		return nil, nil
	}
	lock, err := lockfile.Parse(req.Locked)
	if err != nil {
		return nil, err
	}
	if lock.Source != c.Source {
		return nil, fmt.Errorf("the lock file is of %q, but source.url is %s", lock.Source, c.Source)
	}
	configured, inLock := namesOf(targets), []string{}
	for _, m := range lock.Manifests {
		inLock = append(inLock, m.Manifest)
	}
	slices.Sort(configured)
	slices.Sort(inLock)
	if !slices.Equal(configured, inLock) {
		return nil, fmt.Errorf("the lock file has the manifests %s, but the configuration has %s: make them the same", strings.Join(inLock, ", "), strings.Join(configured, ", "))
	}
	return lock, nil
}

// askNothing plans a manifest by the lock file. The provider is asked for downloads and
// sizes only, because the lock has the digests.
func (r *run) askNothing(ctx context.Context, j *job) {
	r.take(ctx, j, r.takeLocked, r.plan)
}

func (r *run) takeLocked(_ context.Context, j *job) error {
	m, _ := r.lock.Manifest(j.target.Name) // readLock has compared the names
	if err := r.checkAhead(m.Release); err != nil {
		return err
	}
	same := func(locked, served mirror.File) bool {
		return locked.Path == served.Path && locked.Object == served.Object
	}
	if j.served && j.active.Held == nil && m.Release == j.active.Release && slices.EqualFunc(m.Files, j.active.Files, same) {
		j.settle(report.Unchanged)
		return nil
	}
	j.release, j.listed, j.files = m.Release, m.Listed, lockfile.PlannedFiles(m)
	return nil
}

var errNotAllLocked = errors.New("not published, because another manifest of the lock file failed")

// requireAll fails every manifest when one of the lock file failed: the lock is made as a
// whole, or not at all.
func (r *run) requireAll() {
	if r.lock == nil || !slices.ContainsFunc(r.jobs, func(j *job) bool { return j.hasFailed() }) {
		return
	}
	for _, j := range openJobs(r.jobs) {
		j.fail(errNotAllLocked)
	}
}
