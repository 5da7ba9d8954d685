package syncer

import (
	"errors"
	"fmt"
	"slices"

	"syncd/internal/disk/space"
	"syncd/internal/golive/room"
	"syncd/internal/manifest"
	"syncd/internal/manifest/layout"
	"syncd/internal/manifest/refusal"
	"syncd/internal/mirror"
	"syncd/internal/report"
	"syncd/internal/report/status"
)

// ViewTarget is one view to serve.
type ViewTarget struct {
	View     layout.View                            // without maps
	ReadMaps func() (map[string]*layout.Map, error) // by manifest
}

// wantedView is a view that a sync wants to serve.
type wantedView struct {
	mirror.Wanted
	err error // its maps cannot be read; it stays as it is
}

// wantedViews reads the map files of all views. A view follows what they hold at the
// start of each sync.
func (c *Config) wantedViews() []wantedView {
	views := make([]wantedView, len(c.Views))
	for i, target := range c.Views {
		views[i] = wantedView{Wanted: mirror.Wanted{View: target.View, Access: c.Access}}
		views[i].Maps, views[i].err = target.ReadMaps()
	}
	return views
}

// checkViews refuses, before anything of them is downloaded, those of jobs whose files
// cannot lie in a view with those of the other manifests.
func (r *run) checkViews(jobs []*job) {
	for _, v := range r.views {
		for v.err == nil && r.checkView(v, jobs) {
		}
	}
}

// checkView returns true if it refused a job, so that the served files of its manifest
// count now.
func (r *run) checkView(v wantedView, jobs []*job) (refused bool) {
	isMember := func(j *job) bool { return slices.Contains(v.Manifests, j.target.Name) }
	members := slices.DeleteFunc(openJobs(jobs), func(j *job) bool { return !isMember(j) })
	if len(members) == 0 {
		return false
	}
	var files []layout.File
	for _, name := range v.Manifests {
		files = append(files, r.expected(name)...)
	}
	_, err := v.View.Arrange(files)
	return failNamed(err, members)
}

// expected lists the files that a manifest will serve after the running syncs.
func (r *run) expected(name string) (files []layout.File) {
	for _, j := range append(slices.Clone(r.jobs), r.cfg.Shared.jobs()...) {
		if j.target.Name != name {
			continue
		}
		for _, f := range j.planned() {
			files = append(files, layout.File{Manifest: name, Path: f.Path, Reference: f.Reference, Expected: f.Expected})
		}
		if len(files) > 0 {
			return files
		}
	}
	for _, f := range r.cfg.Mirror.Current().Records[name].Files {
		if file, err := f.InView(name); err == nil {
			files = append(files, file)
		}
	}
	return files
}

// planned lists the files of an open job with a plan.
func (j *job) planned() []manifest.File {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.result != "" {
		return nil
	}
	return j.plan.Files
}

// failNamed refuses the jobs whose manifests an error of a view names.
func failNamed(err error, jobs []*job) (refused bool) {
	var problem *layout.PlaceError
	if !errors.As(err, &problem) {
		return false
	}
	for _, j := range jobs {
		if slices.Contains(problem.Names(), j.target.Name) {
			j.fail(err)
			refused = true
		}
	}
	return refused
}

// arrangeViews completes a change with the views that follow from it. A job whose new
// files cannot lie in a view is refused and leaves the change; recheck may have brought
// together files that checkViews did not see together. It returns the outcome of each
// view, if the change is published.
func (r *run) arrangeViews(jobs []*job, change *mirror.Change) (outcomes []report.ViewResult) {
	change.Views = nil
	current := r.cfg.Mirror.Current()
	for i := 0; i < len(r.views); i++ {
		v := r.views[i]
		made, err := r.cfg.arrangeView(v, current, *change, r.cfg.Shared.Reserved(namesOfJobs(jobs)))
		if named := namedBy(err, *change); len(named) > 0 {
			failNamed(err, slices.DeleteFunc(slices.Clone(jobs), func(j *job) bool { return !slices.Contains(named, j.target.Name) }))
			change.Set = slices.DeleteFunc(change.Set, func(record mirror.Record) bool { return slices.Contains(named, record.Manifest) })
			change.Set = wholeGroups(change.Set, r.together)
			change.Views, outcomes, i = nil, nil, -1 // the others may have been arranged with its files
			continue
		}
		if made != nil {
			change.Views = append(change.Views, *made)
		}
		outcomes = append(outcomes, viewResult(v, current.Views[v.Name], made, err))
	}
	return outcomes
}

func sets(change mirror.Change, name string) bool {
	return slices.ContainsFunc(change.Set, func(record mirror.Record) bool { return record.Manifest == name })
}

// namedBy lists the manifests of a change that an error of a view names.
func namedBy(err error, change mirror.Change) []string {
	var problem *layout.PlaceError
	if !errors.As(err, &problem) {
		return nil
	}
	return slices.DeleteFunc(problem.Names(), func(name string) bool { return !sets(change, name) })
}

// arrangeView returns the view that follows from a change, nil if the served one stays. A
// view appears when all its manifests have data. Later, one without data is left out. The
// new view leaves the space that others reserved, and that of the views in the change.
func (c *Config) arrangeView(v wantedView, current mirror.Generation, change mirror.Change, others space.Amount) (*mirror.View, error) {
	records, served := current.After(change), current.Views[v.Name]
	if _, taken := records[v.Name]; taken {
		return nil, fmt.Errorf("view %s: current/%s is still a manifest that left the configuration: `syncd forget %s` removes it", v.Name, v.Name, v.Name)
	}
	isNew := served.Name == "" || slices.Contains(change.Remove, v.Name)
	switch missing := v.Missing(records); {
	case v.err != nil:
		return nil, fmt.Errorf("view %s: %w", v.Name, v.err)
	case isNew && len(missing) > 0, len(missing) == len(v.Manifests), !isNew && v.Matches(served, records):
		return nil, nil
	}
	made, unmapped, err := v.Arrange(records, c.Version)
	if err != nil {
		return nil, err
	}
	if err := room.CheckView(c.Mirror, made, change.Views, others); err != nil {
		return nil, err
	}
	if len(unmapped) > 0 && made.Fingerprint != served.Fingerprint {
		c.Log.Warn().Str("view", v.Name).Int("files", len(unmapped)).Str("first", unmapped[0]).
			Msg("no map places some files of the view; they lie where the provider's updater puts them")
	}
	return &made, nil
}

// removedViews lists the views that are served, no longer configured, and not kept. A
// manifest takes its name from a view that left the configuration.
func (r *run) removedViews(set []mirror.Record) (names []string) {
	newest := r.cfg.Shared.newest.Load()
	for name := range r.cfg.Mirror.Current().Views {
		isWanted := slices.ContainsFunc(newest.Views, func(v ViewTarget) bool { return v.View.Name == name })
		isTaken := slices.ContainsFunc(set, func(record mirror.Record) bool { return record.Manifest == name })
		if !isWanted && (newest.DropRemoved || isTaken) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// viewResult is the outcome of a view that was served, and of the attempt to make another.
func viewResult(v wantedView, served mirror.View, made *mirror.View, err error) report.ViewResult {
	result := report.ViewResult{Name: v.Name, Layout: string(v.Layout), Fingerprint: served.Fingerprint, Files: len(served.Files), Result: report.Unchanged}
	switch {
	case err != nil:
		result.Result, result.Reason, result.Error = report.Failed, string(refusal.ReasonOf(err)), report.OneLine(err.Error())
		if result.Reason != "" {
			result.Result = report.Refused
		}
	case made != nil:
		result.Result, result.Fingerprint, result.Files = report.Updated, made.Fingerprint, len(made.Files)
	}
	return result
}

// noteViews keeps outcomes for the report. One that changed nothing hides no other of the
// same sync.
func (r *run) noteViews(outcomes []report.ViewResult) {
	if r.viewResults == nil {
		r.viewResults = map[string]report.ViewResult{}
	}
	for _, v := range outcomes {
		if r.viewResults[v.Name].Result != report.Updated || v.Result != report.Unchanged {
			r.viewResults[v.Name] = v
		}
		status.ShowView(r.cfg.Metrics, v.Name, r.viewResults[v.Name].State())
	}
}

// failViews notes that a generation with these views was not published.
func (r *run) failViews(views []mirror.View, err error) {
	served := r.cfg.Mirror.Current().Views
	for _, made := range views {
		for _, v := range r.views {
			if v.Name == made.Name {
				r.noteViews([]report.ViewResult{viewResult(v, served[v.Name], nil, fmt.Errorf("view %s: %w", v.Name, space.RefuseIfFull(err)))})
			}
		}
	}
}

// reportViews returns the outcomes in the order of the configuration.
func (r *run) reportViews() (all []report.ViewResult) {
	for _, v := range r.views {
		if result, noted := r.viewResults[v.Name]; noted {
			all = append(all, result)
		}
	}
	return all
}
