package syncer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"syncd/internal/clients/releases"
	"syncd/internal/manifest"
	"syncd/internal/mirror"
	"syncd/internal/refusal"
	"syncd/internal/report"
)

// resolve finds out what the manifest should hold and plans what is missing. The
// job is settled when there is nothing to do.
func (r *run) resolve(ctx context.Context, j *job) error {
	r.progress.SetPhase(j.target.Name, report.PhaseChecking)
	settled, err := r.chooseRelease(ctx, j)
	if err != nil || settled {
		return err
	}
	if r.backsOff(j) {
		return nil
	}
	files, settled, err := r.list(ctx, j)
	if err != nil || settled {
		return err
	}
	j.full = true
	if r.held(j, files) || r.upToDate(j, files) {
		j.settle(report.Unchanged)
		return nil
	}
	return r.plan(ctx, j, files)
}

// plan may be a second one in the same sync: what the first has fetched is known.
func (r *run) plan(ctx context.Context, j *job, files []manifest.File) error {
	onDisk, proven := r.known(ctx, j), j.plan.Known
	var unread []manifest.Object
	known := func(f manifest.File) (manifest.Object, bool) {
		if object, ok := proven[f.Expected]; ok {
			return object, true
		}
		object, there := onDisk(f)
		if !there {
			return manifest.Object{}, false
		}
		switch r.trust.of(r, object.ID) {
		case damaged:
			return manifest.Object{}, false
		case doubtful:
			unread = append(unread, object)
		}
		return object, true
	}
	plan := manifest.NewPlan(files, known)
	if len(unread) > 0 {
		if err := r.trust.read(ctx, r, j.target.Name, unread); err != nil {
			return err
		}
		plan = manifest.NewPlan(files, known) // without those that are not what they should be
	}
	j.plan = plan
	fetched := map[manifest.Digest]bool{}
	for digest := range j.plan.Known {
		if j.fetched[digest] {
			fetched[digest] = true
		}
	}
	j.fetched = fetched
	r.progress.SetFiles(j.target.Name, len(j.plan.Missing))
	return nil
}

// chooseRelease resolves the configured release once; only that one is used from
// then on. A poll that finds nothing new settles the job after one request.
func (r *run) chooseRelease(ctx context.Context, j *job) (settled bool, err error) {
	if setting := j.target.Release; setting != manifest.Latest && !setting.IsMonth() {
		j.release = setting // only the service can say what an alias holds: list tells
		return false, nil
	}
	newest, err := r.newest(ctx, j)
	if err != nil {
		return false, err
	}
	j.release = j.target.Release
	if j.release == manifest.Latest {
		j.release = newest
		if j.served && j.active.Release.Newer(newest) && !r.req.Force {
			return false, refusal.New(refusal.Downgrade, "newest release %s is older than %s, which stays: `syncd sync --force` would go back", newest, j.active.Release)
		}
	}
	if r.wantsFull(j) {
		return false, nil
	}
	passedOver := j.active.Held != nil && !j.release.Newer(j.active.Held.Release)
	if j.release == j.active.Release || passedOver {
		j.settle(report.Unchanged)
		return true, nil
	}
	return false, nil
}

// wantsFull is true when a sync must look at the Manifest and its digests even
// though the release may be the one that is served.
func (r *run) wantsFull(j *job) bool {
	return !j.served || j.state.Served != "" && j.state.Served != j.active.ID() || r.req.Demand || r.req.Force ||
		j.state.Config != r.configOf(j.target) ||
		j.state.FullAt.After(r.started) || // the clock was set back
		r.started.Sub(j.state.FullAt) >= r.Recheck
}

// newest asks for the manifest's releases, conditionally, and picks the latest month.
func (r *run) newest(ctx context.Context, j *job) (manifest.Release, error) {
	var since releases.Validators
	if j.state.Newest != "" && j.state.Config == r.configOf(j.target) { // another source has other validators
		since = releases.Validators{ETag: j.state.ETag, LastModified: j.state.LastModified}
	}
	var ids []string
	var now releases.Validators
	var notModified bool
	err := r.lookup(ctx, func() (err error) {
		ids, now, notModified, err = r.Provider.ManifestReleases(ctx, j.target.Name, since)
		return err
	})
	if err != nil {
		return "", err
	}
	if notModified {
		return manifest.Release(j.state.Newest), nil
	}
	newest, ignored := manifest.Newest(ids)
	if len(ignored) > 0 {
		r.Log.Warn().Str("manifest", j.target.Name).Int("ignored", len(ignored)).Msg("the provider lists releases of an unknown form")
	}
	if newest == "" {
		return "", refusal.New(refusal.BadShape, "none of the %d releases listed for %s is of the form YYYY.MM", len(ids), j.target.Name)
	}
	j.state.Newest, j.state.ETag, j.state.LastModified = string(newest), now.ETag, now.LastModified
	return newest, nil
}

// backsOff repeats the outcome of a release that failed before, until the
// schedule may try it again.
func (r *run) backsOff(j *job) bool {
	failure := j.state.Failure
	if failure == nil || failure.Release != string(j.release) || r.req.Demand || r.req.Force ||
		j.state.Config != r.configOf(j.target) || !r.started.Before(failure.NextTry) ||
		failure.NextTry.Sub(r.started) > r.Recheck { // the clock was set back
		return false
	}
	j.settle(report.Result(failure.Result))
	j.err, j.repeated = errors.New(failure.Error), true
	return true
}

// list asks for the manifest's files, applies the guards to all of them, and
// returns those that pass the filter with their digests.
func (r *run) list(ctx context.Context, j *job) (files []manifest.File, settled bool, err error) {
	var refs []manifest.Reference
	err = r.lookup(ctx, func() (err error) {
		refs, err = r.Provider.Manifest(ctx, j.release, j.target.Name)
		return err
	})
	if err != nil {
		return nil, false, err
	}
	j.listed = len(refs)
	if err := r.checkListed(j); err != nil {
		return nil, false, err
	}
	j.links = manifest.ListFingerprint(refs)
	if !r.wantsFull(j) && j.mismatch == nil && j.release == j.active.Release && j.links == j.state.Links {
		j.settle(report.Unchanged) // an alias that still lists the same files
		return nil, true, nil
	}
	chosen := j.target.Filter.Choose(refs)
	if len(chosen) == 0 {
		return nil, false, fmt.Errorf("the filters of %s leave none of the %d files of release %s: check os, compiler, language, architecture, include and exclude", j.target.Name, len(refs), j.release)
	}
	if err := manifest.CheckPaths(chosen); err != nil {
		return nil, false, err
	}
	files = make([]manifest.File, len(chosen))
	for i, ref := range chosen {
		files[i] = manifest.File{Reference: ref, Path: ref.Path()}
	}
	slices.SortFunc(files, func(a, b manifest.File) int { return strings.Compare(a.Path, b.Path) })
	return files, false, r.ask(ctx, j, files)
}

// upToDate is true when the provider promises exactly what is served.
func (r *run) upToDate(j *job, files []manifest.File) bool {
	if !j.served || j.active.Held != nil || j.release != j.active.Release {
		return false
	}
	same := func(f manifest.File, served mirror.File) bool {
		return f.Path == served.Path && served.Expected == f.Expected
	}
	if slices.EqualFunc(files, j.active.Files, same) {
		return true
	}
	fingerprint := manifest.Fingerprint(files)
	return fingerprint == j.active.Fingerprint() || matches(fingerprint, j.active) == j.state.Matches
}

// matches says that what the provider promises, in whatever algorithm, was found
// to be a revision.
func matches(fingerprint string, record mirror.Record) string { return fingerprint + " " + record.ID() }

// held is true while a rollback keeps the manifest from what the provider has.
func (r *run) held(j *job, files []manifest.File) bool {
	hold := j.active.Held
	if !j.served || hold == nil || r.req.Force || hold.Setting != j.target.Release {
		return false
	}
	if j.release != hold.Release {
		return !j.release.Newer(hold.Release)
	}
	if hold.Selection != r.filterOf(j.target) { // other files: their digests say nothing about the old ones
		r.Log.Warn().Str("manifest", j.target.Name).Msg("filters changed while held after a rollback: `syncd sync --force` ends the hold")
		return true
	}
	return manifest.Fingerprint(files) == hold.Fingerprint
}

// configOf identifies the configuration of a manifest, filterOf the part that
// decides which digests are compared.
func (s *Syncer) configOf(t Target) string {
	return fmt.Sprintf("%s %s %s", s.Source, t.Release, s.filterOf(t))
}

func (s *Syncer) filterOf(t Target) string {
	return fmt.Sprintf("%s %s", s.Algorithm, t.Filter.Fingerprint())
}
