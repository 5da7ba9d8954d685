package status

import (
	"strings"

	"syncd/internal/report"
	"syncd/internal/store"
)

// Upload returns the status of publishing the generation served to place.
func Upload(p store.Upload, place string, served int, election *report.ElectionStatus) *report.UploadStatus {
	if p.Place != place {
		p = store.Upload{}
	}
	status := &report.UploadStatus{
		Place: place, State: report.StatePending, Generation: p.Generation, PublishedAt: timeOrNull(p.PublishedAt),
		FailingSince: timeOrNull(p.FailingSince), Error: p.Error, Election: election,
		Publisher: p.Publisher, GenerationAt: timeOrNull(p.WrittenAt), Epoch: p.Epoch, Replaced: p.Replaced, Kept: []string{}, Signed: signed(p),
	}
	if p.Error == "" && p.CollectionError != "" {
		status.FailingSince, status.Error = timeOrNull(p.CollectionFailingSince), p.CollectionError
	}
	if v := p.Verified; !v.At.IsZero() {
		status.Verification = &report.UploadCheckStatus{At: v.At, Objects: v.Objects, Bytes: v.Bytes, Found: v.Found, Repaired: v.Repaired, First: v.First}
	}
	if p.Kept != "" {
		status.Kept = strings.Split(p.Kept, ",")
	}
	switch {
	case p.Error != "":
		status.State = report.StateFailed
	case p.Standby:
		status.State = report.StateStandby
	case p.Superseded:
		status.State = report.StateSuperseded
	case p.Generation > 0 && p.Shown == served && p.Verified.Found > p.Verified.Repaired:
		status.State = report.StateDamaged
	case p.Generation > 0 && p.Shown == served:
		status.State = report.StateInSync
	}
	return status
}

// Scrub returns the status of scrubbing, or nil if none is configured and none has
// run.
func Scrub(s store.Scrub, configured bool) *report.ScrubStatus {
	if !configured && s.StartedAt.IsZero() {
		return nil
	}
	status := &report.ScrubStatus{
		State: report.ScrubOff, StartedAt: timeOrNull(s.StartedAt), FinishedAt: timeOrNull(s.FinishedAt),
		Objects: s.Objects, TotalObjects: max(s.TotalObjects, s.Objects), Bytes: s.Bytes, TotalBytes: max(s.TotalBytes, s.Bytes),
		Damaged: s.Damaged, Repaired: s.Repaired, Left: []report.ScrubDamage{},
	}
	switch {
	case configured && s.IsRunning():
		status.State = report.ScrubRunning
	case configured:
		status.State = report.ScrubWaiting
	}
	for _, d := range s.Left {
		status.Left = append(status.Left, report.ScrubDamage{Object: d.Object.String(), File: d.File, Error: report.OneLine(d.Error), At: d.At})
	}
	return status
}
