package rollback

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/dustin/go-humanize"

	"syncd/internal/golive"
	"syncd/internal/manifest"
	"syncd/internal/mirror"
	"syncd/internal/store"
)

// scrubCounts is for how long the reading of a scrub counts. A scrub each week is usual.
const scrubCounts = 8 * 24 * time.Hour

// unprovenError says that revisions cannot go live before their files are read.
type unprovenError struct{ records []mirror.Record }

func (e *unprovenError) Error() string { return "files must be read first" }

// reproof reads revisions that have lain on the disk. It does not need the turn.
type reproof struct{ *golive.Tree }

// read reads the files of revisions, apart from those that are served now, which cannot
// become worse, and those that a scrub has read lately. The error names a damaged file.
func (p reproof) read(ctx context.Context, records []mirror.Record) error {
	scrub, err := p.Store.Scrub()
	if err != nil {
		p.Log.Warn().Err(err).Msg("reading the state of the scrub failed; all files are read")
	}
	current := p.Mirror.Current()
	served := map[manifest.ObjectID]bool{}
	for _, r := range records {
		for _, f := range current.Records[r.Manifest].Files {
			served[f.Object] = true
		}
	}
	unread := p.Mirror.Unread(records, func(r mirror.Record, id manifest.ObjectID) bool {
		return served[id] || hasRead(scrub, r, id)
	})
	if len(unread.Files) == 0 {
		return nil
	}
	began := time.Now()
	p.Log.Info().Int("files", len(unread.Files)).Str("size", humanize.IBytes(uint64(unread.Bytes))).Msg("reading files before they go live again")
	checked, err := p.Mirror.Read(ctx, unread)
	if err != nil {
		return err
	}
	for _, d := range checked.Damage {
		p.Metrics.VerifyFailed(d.Manifest)
	}
	if len(checked.Damage) > 0 {
		return damaged(checked.Damage, records)
	}
	p.Log.Info().Int("files", checked.Files).Dur("duration", time.Since(began)).Msg("the files are whole")
	return nil
}

// hasRead is true if a scrub that has ended lately read the objects of a revision, and
// found or made this one whole.
func hasRead(s store.Scrub, r mirror.Record, id manifest.ObjectID) bool {
	age := time.Since(s.StartedAt)
	return !s.FinishedAt.IsZero() && age > 0 && age < scrubCounts && r.PublishedAt.Before(s.StartedAt) &&
		!slices.ContainsFunc(s.Left, func(d store.ScrubDamage) bool { return d.Object == id })
}

// damaged names the first damaged file, and what can be done.
func damaged(all []mirror.Damage, records []mirror.Record) error {
	d := all[0]
	release := d.File.Reference.Release()
	if i := slices.IndexFunc(records, func(r mirror.Record) bool { return r.Manifest == d.Manifest }); i >= 0 {
		release = records[i].Release
	}
	more := ""
	if len(all) > 1 {
		more = fmt.Sprintf(" and %d other files", len(all)-1)
	}
	return fmt.Errorf("nothing was changed: %s%s of %s %s is damaged on the disk: `syncd pin %s %s` goes there and fetches it again, `syncd rollback GENERATION` goes elsewhere (`syncd history` lists them): %w",
		d.Path(), more, d.Manifest, release, d.Manifest, release, d.Err)
}
