package syncer

import (
	"context"
	"iter"
	"slices"
	"time"

	"syncd/internal/disk/space"
	"syncd/internal/golive/room"
	"syncd/internal/manifest"
	"syncd/internal/manifest/refusal"
	"syncd/internal/mirror"
	"syncd/internal/report"
	"syncd/internal/report/request"
	"syncd/internal/store"
	"syncd/internal/syncer/adopt"
)

// Adopt makes objects of those files in a folder that the configured releases need and
// that are not on disk. It plans as a dry run does, so it needs no claim and publishes
// nothing: the next sync finds the objects, and a running one uses them.
func (s *Syncer) Adopt(ctx context.Context, req request.Adopt) (report.Adoption, error) {
	folder, err := adopt.Open(req.Folder, s.cfg.Mirror.Root(), req.Move)
	if err != nil {
		return report.Adoption{}, err
	}
	defer folder.Close()
	defer s.progress.Begin(ctx, request.TriggerAdopt, time.Now(), []string{req.Folder})()
	r, err := s.start(ctx, request.Sync{Manifests: req.Manifests, Demand: true, DryRun: true, Force: req.Force})
	if err != nil {
		return report.Adoption{}, err
	}
	defer r.end()
	r.inParallel(ctx, r.jobs, r.ask)
	wanting := wave{r, r.jobs}
	wanting.askSizes(ctx)
	if ctx.Err() != nil {
		return report.Adoption{}, context.Cause(ctx)
	}
	a := s.newAdoption(ctx, r, req, folder)
	if !a.WantsNothing() {
		wanting.saveWanted()
		err = a.Take(ctx)
		r.saveAdopted(a)
	}
	return r.reportAdoption(a), err
}

func (s *Syncer) newAdoption(ctx context.Context, r *run, req request.Adopt, folder *adopt.Folder) *adopt.Adoption {
	a := adopt.New(adopt.Config{
		Folder: folder, Name: req.Folder, Move: req.Move, Algorithm: s.cfg.Algorithm, Partial: s.cfg.Mirror.Objects.Partial(),
		Objects: r.session, Downloads: &s.cfg.Shared.downloads, Ledger: &s.cfg.Shared.adopting, Overhead: room.Overhead, Progress: s.progress,
		Free: func(need space.Amount) (space.Amount, error) {
			return r.tree.Room().FreeFor(ctx, need, namesOfJobs(r.jobs))
		},
	})
	for _, j := range openJobs(r.jobs) {
		p := j.plan()
		for _, f := range p.missing {
			size, known := p.sizes.Get(f.Expected)
			if !known {
				size = -1
			}
			a.Want(f, size)
		}
	}
	return a
}

// saveAdopted keeps what was adopted for the next sync: the names of the objects, and the
// proofs that spare it the reading. Only then are the copied files removed from the folder.
func (r *run) saveAdopted(a *adopt.Adoption) {
	planned, proofs := map[string]iter.Seq[store.Planned]{}, map[string]*store.Proofs{}
	adopted := false
	for _, j := range openJobs(r.jobs) {
		objects := j.objects()
		for _, f := range j.plan().missing {
			if object, here := a.Adopted(f.Expected); here {
				objects.Put(f.Expected, object)
				j.life.adopted[f.Expected] = true // no download of this run changes the job
				adopted = true
			}
		}
		planned[j.target.Name], proofs[j.target.Name] = j.plannedContents(), r.session.Proofs(objects)
	}
	if !adopted {
		return
	}
	if err := r.cfg.Mirror.Objects.Sync(); err != nil {
		a.Skip(".", err)
		return
	}
	if err := r.cfg.Store.Commit(store.Changes{Planned: planned, Proofs: proofs}); err != nil {
		r.cfg.Log.Warn().Err(err).Msg("noting the adopted files failed; a prune may remove them before the next sync")
		return
	}
	a.Remove()
}

// adoptedOf are the planned contents that came from a folder.
func adoptedOf(planned []store.Planned) map[manifest.Digest]bool {
	adopted := map[manifest.Digest]bool{}
	for _, w := range planned {
		if w.Adopted {
			adopted[w.Expected] = true
		}
	}
	return adopted
}

// hasAdopted is true if some file came from a folder, before this sync or beside it.
func (c *candidate) hasAdopted(files []manifest.File) bool {
	c.job.mu.Lock()
	defer c.job.mu.Unlock()
	return slices.ContainsFunc(files, func(f manifest.File) bool {
		return c.job.life.adopted[f.Expected] || c.cfg.Shared.downloads.HasAdopted(f.Expected)
	})
}

// originOf sets where the contents of a revision came from. One that is on disk already came
// from where its record says: an upstream that has the same revision did not bring it.
func (c *candidate) originOf(record *mirror.Record) {
	record.Source, record.Adopted = c.cfg.Source, c.hasAdopted(c.job.plan().files)
	records := c.cfg.Mirror.Records
	if !slices.Contains(records.RevisionIDs(record.Manifest), record.ID()) {
		return
	}
	before, err := records.Revision(record.Manifest, record.ID())
	if err != nil {
		before, err = records.Staged(record.Manifest, record.ID())
	}
	if err == nil {
		record.Source, record.Adopted = before.Source, before.Adopted
	}
}

// reportAdoption says what was adopted, and what the next sync will still download.
func (r *run) reportAdoption(a *adopt.Adoption) report.Adoption {
	result := a.Report()
	missing := map[manifest.Digest]bool{}
	for _, j := range r.jobs {
		m := j.reportAdoption(a)
		for _, f := range j.notAdopted(a) {
			if !missing[f.Expected] {
				missing[f.Expected] = true
				result.FilesToDownload++
				size, _ := j.plan().sizes.Get(f.Expected)
				result.BytesToDownload = min(result.BytesToDownload+size, space.Max)
			}
		}
		result.Manifests = append(result.Manifests, m)
	}
	return result
}

func (j *job) reportAdoption(a *adopt.Adoption) report.AdoptedManifest {
	p := j.plan()
	m := report.AdoptedManifest{Name: j.target.Name, Release: string(j.release), FilesTotal: len(p.files), Missing: []string{}}
	if err := j.ended().err; err != nil {
		m.Reason, m.Error = string(refusal.ReasonOf(err)), report.OneLine(err.Error())
		return m
	}
	if !j.open() {
		m.Release, m.FilesTotal = string(j.active.Release), len(j.active.Files)
	}
	for _, f := range p.missing {
		if object, here := a.Adopted(f.Expected); here {
			m.FilesAdopted++
			m.BytesAdopted += object.Size
		}
	}
	for _, f := range j.notAdopted(a) {
		m.FilesToDownload++
		size, _ := p.sizes.Get(f.Expected)
		m.BytesToDownload = min(m.BytesToDownload+size, space.Max)
		if len(m.Missing) < report.MaxNamed {
			m.Missing = append(m.Missing, f.Path)
		}
	}
	return m
}

// notAdopted are the files of an open job that are still to be downloaded.
func (j *job) notAdopted(a *adopt.Adoption) (missing []*manifest.File) {
	if !j.open() {
		return nil
	}
	for _, f := range j.plan().missing {
		if a.IsMissing(f.Expected) {
			missing = append(missing, f)
		}
	}
	return missing
}
