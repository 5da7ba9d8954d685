package syncer

import (
	"context"
	"time"

	"syncd/internal/disk/space"
	"syncd/internal/manifest"
	"syncd/internal/report"
	"syncd/internal/report/request"
	"syncd/internal/store"
	"syncd/internal/syncer/adopt"
)

// Adopt makes objects of those files in a folder that the configured releases need and
// that are not on disk. It plans as a dry run does, so it needs no claim and publishes
// nothing: the next sync finds the objects, and a running one uses them.
func (s *Syncer) Adopt(ctx context.Context, req request.Adopt) (report.Adoption, error) {
	folder, err := adopt.Open(req.Folder, s.cfg.Mirror.Root())
	if err != nil {
		return report.Adoption{}, err
	}
	defer folder.Close()
	defer s.progress.Begin(request.TriggerAdopt, time.Now(), []string{req.Folder})()
	r, err := s.start(ctx, request.Sync{Manifests: req.Manifests, Demand: true, DryRun: true})
	if err != nil {
		return report.Adoption{}, err
	}
	defer r.end()
	r.inParallel(ctx, r.jobs, r.ask)
	r.askSizes(ctx, r.jobs)
	if ctx.Err() != nil {
		return report.Adoption{}, context.Cause(ctx)
	}
	a := newAdoption(r, req, folder, s.progress)
	if len(a.open) > 0 {
		r.saveWanted(r.jobs)
		err = a.takeAll(ctx)
		a.save()
	}
	return a.report(req.Folder), err
}

// save keeps what was adopted for the next sync: the names of the objects, and the proofs
// that spare it the reading. Only then are the copied files removed from the folder.
func (a *adoption) save() {
	if len(a.adopted) == 0 {
		return
	}
	r := a.run
	wanted, proofs := map[string][]store.Wanted{}, map[string]*store.Proofs{}
	for _, j := range openJobs(r.jobs) {
		for _, f := range j.plan.Missing {
			if object, here := a.adopted[f.Expected]; here {
				j.plan.Known[f.Expected] = object
			}
		}
		wanted[j.target.Name], proofs[j.target.Name] = j.wanted(), r.session.Proofs(j.plan.Known)
	}
	if err := r.cfg.Mirror.SyncObjects(); err != nil {
		a.skip(adopt.Problem{Path: ".", Err: err})
		return
	}
	if err := r.cfg.Store.Commit(store.Changes{Wanted: wanted, Proofs: proofs}); err != nil {
		r.cfg.Log.Warn().Err(err).Msg("noting the adopted files failed; a prune may remove them before the next sync")
		return
	}
	for _, c := range a.copied {
		if err := a.folder.Remove(c.Candidate, c.seen); err != nil {
			a.skip(adopt.Problem{Path: c.Path, Err: err})
		}
	}
}

// report says what was adopted, and what the next sync will still download.
func (a *adoption) report(folder string) report.Adoption {
	result := report.Adoption{Folder: folder, FilesRead: a.filesRead, BytesRead: a.bytesRead, Manifests: []report.AdoptedManifest{}}
	for _, object := range a.adopted {
		result.FilesAdopted++
		result.BytesAdopted += object.Size
	}
	missing := map[manifest.Digest]bool{}
	for _, j := range a.run.jobs {
		m := a.reportJob(j)
		for _, f := range a.missing(j) {
			if !missing[f.Expected] {
				missing[f.Expected] = true
				result.FilesToDownload++
				result.BytesToDownload = min(result.BytesToDownload+j.sizes[f.Expected], space.Max)
			}
		}
		result.Manifests = append(result.Manifests, m)
	}
	result.SkippedCount = a.problems.Count
	for _, p := range a.problems.First {
		result.Skipped = append(result.Skipped, report.SkippedFile{Path: report.OneLine(p.Path), Error: report.OneLine(p.Err.Error())})
	}
	return result
}

func (a *adoption) reportJob(j *job) report.AdoptedManifest {
	m := report.AdoptedManifest{Name: j.target.Name, Release: string(j.release), FilesTotal: len(j.plan.Files), Missing: []string{}}
	if j.err != nil {
		m.Error = report.OneLine(j.err.Error())
		return m
	}
	if !j.open() {
		m.Release, m.FilesTotal = string(j.active.Release), len(j.active.Files)
	}
	for _, f := range j.plan.Missing {
		if object, here := a.adopted[f.Expected]; here {
			m.FilesAdopted++
			m.BytesAdopted += object.Size
		}
	}
	for _, f := range a.missing(j) {
		m.FilesToDownload++
		m.BytesToDownload = min(m.BytesToDownload+j.sizes[f.Expected], space.Max)
		if len(m.Missing) < report.MaxNamed {
			m.Missing = append(m.Missing, f.Path)
		}
	}
	return m
}

// missing are the files of an open job whose contents no file of the folder had.
func (a *adoption) missing(j *job) (missing []*manifest.File) {
	if !j.open() {
		return nil
	}
	for _, f := range j.plan.Missing {
		if _, here := a.adopted[f.Expected]; !here {
			missing = append(missing, f)
		}
	}
	return missing
}
