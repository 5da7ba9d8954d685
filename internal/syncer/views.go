package syncer

import (
	"errors"
	"slices"

	"syncd/internal/golive"
	"syncd/internal/manifest"
	"syncd/internal/manifest/layout"
	"syncd/internal/report"
)

// checkViews refuses, before anything of them is downloaded, those of jobs whose files
// cannot lie in a view with those of the other manifests.
func (r *run) checkViews(jobs []*job) {
	for _, v := range r.views {
		for v.Err == nil && r.checkView(v, jobs) {
		}
	}
}

// checkView returns true if it refused a job, so that the served files of its manifest
// count now.
func (r *run) checkView(v golive.WantedView, jobs []*job) (refused bool) {
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
