package room

import (
	"context"
	"slices"

	"syncd/internal/mirror"
	"syncd/internal/report"
)

// Forecast says what the plans of a reservation need, and what pruning removes when they are
// live and `retain_for` is over.
func (s *Reservation) Forecast(ctx context.Context, plans []Plan) (report.Space, error) {
	free, err := s.cfg.Mirror.Free()
	free = free.Minus(s.others)
	shown := report.Space{
		BytesNeeded: s.needed.Bytes, InodesNeeded: s.needed.Inodes, BytesFree: free.Bytes, InodesFree: free.Inodes, Removed: []report.RemovedRevision{},
	}
	freed := s.room.freeable(ctx, func(keep *mirror.Retention) {
		keep.For, keep.Displaced = 0, map[string]bool{}
		for _, p := range plans {
			keep.Displaced[p.Manifest] = true
			for _, object := range p.Known.All() {
				keep.Objects[object.ID] = true
			}
		}
	})
	shown.BytesFreed = freed.Bytes
	for _, p := range plans {
		records, failed := s.cfg.Mirror.Records.Revisions(p.Manifest)
		if failed != nil {
			err = failed
		}
		for _, r := range records {
			isServed := s.cfg.Mirror.Current().Records[p.Manifest].ID() == r.ID()
			if !p.isOf(r) && (!freed.Stays[r.Key()] || isServed && s.cfg.Retain == 0) {
				shown.Removed = append(shown.Removed, report.RemovedRevision{Name: p.Manifest, Release: string(r.Release), Revision: r.Revision})
			}
		}
	}
	slices.SortFunc(shown.Removed, report.RemovedRevision.Compare)
	return shown, err
}

// isOf is true for the plan of a revision that is on disk already.
func (p Plan) isOf(r mirror.Record) bool {
	if len(p.Missing) > 0 || len(p.Files) != len(r.Files) {
		return false
	}
	for _, f := range p.Files {
		file, found := r.File(f.Path)
		object, _ := p.Known.Get(f.Expected)
		if !found || object.ID != file.Object {
			return false
		}
	}
	return true
}
