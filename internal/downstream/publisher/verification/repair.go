package verification

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/publisher/contents"
	"syncd/internal/downstream/publisher/election"
	"syncd/internal/manifest"
	"syncd/internal/mirror"
)

// Repair uploads again what was found to be missing or damaged, in the turn of a publication.
// That one then mends what needs another generation. A kill costs what was under way: what is
// left is found again.
func (v *Verification) Repair(ctx context.Context) error {
	u := contents.New(v.Config.Config)
	var failures atomic.Int64
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(contents.MaxRequests)
	for _, f := range v.found {
		group.Go(func() error {
			f.unmended = v.mend(groupCtx, u, f)
			var local *fs.PathError
			switch {
			case f.unmended == nil:
				f.repaired = true
				failures.Store(0)
			case errors.Is(f.unmended, election.ErrLost), !isKnown(f.unmended) && !errors.As(f.unmended, &local) && failures.Add(1) >= maxFailures:
				return f.unmended
			}
			return nil
		})
		if groupCtx.Err() != nil {
			break
		}
	}
	return group.Wait()
}

// maxFailures is how many objects in a row may fail until the repair is given up.
const maxFailures = 3

// mend repairs one finding.
func (v *Verification) mend(ctx context.Context, u *contents.Uploads, f *finding) error {
	switch {
	case f.object != nil:
		err := u.Send(ctx, *f.object)
		if errors.Is(err, fs.ErrNotExist) {
			return errNotHere
		}
		return err
	case !f.pack.IsZero():
		return v.mendPack(ctx, u, f)
	case f.manifest != nil && f.name == bucket.PatchListName(*f.manifest):
		return v.mendPatches(ctx, u, f)
	case f.manifest != nil:
		return v.mendRecord(ctx, f)
	case f.trust != nil:
		return v.mendTrust(ctx, f)
	case slices.ContainsFunc(v.lines, func(l *line) bool { return f.number == l.at.Shown.Generation && l.at.IsWaiting() }):
		return errUnsigned
	case v.newestOf(f) == nil:
		return errOutdated
	}
	return errNeedsGeneration
}

// Errors that say why something was not repaired.
var (
	errNotHere         = errors.New("this host does not have it, or not any more: only another publisher can repair it")
	errNeedsGeneration = errors.New("no new generation was published")
	errUnsigned        = errors.New("followers mirror it until enough keys have signed a newer one: run `syncd publish` on the other publishers")
	errOutdated        = errors.New("followers have a newer generation, and this one will be deleted as garbage")
	errOtherText       = errors.New("this host has another text of it")
)

func isKnown(err error) bool {
	return slices.ContainsFunc([]error{errNotHere, errNeedsGeneration, errUnsigned, errOutdated, errOtherText}, func(known error) bool { return errors.Is(err, known) })
}

func (v *Verification) mendRecord(ctx context.Context, f *finding) error {
	own, found := v.ownRecord(*f.manifest)
	if !found {
		return errNotHere
	}
	text, err := bucket.TextOf(own)
	switch {
	case err != nil:
		return err
	case f.manifest.RecordSHA256.IsZero(), f.manifest.RecordSHA256 == text.Sum:
		return v.Store.WriteRecord(ctx, text)
	case v.newestOf(f) == nil:
		return errOtherText
	}
	return errNeedsGeneration
}

// ownRecord is this host's record of a revision that the bucket has.
func (v *Verification) ownRecord(m bucket.Manifest) (mirror.Record, bool) {
	for _, l := range v.lines {
		if r := l.Mirror.Current().Records[m.Name]; bucket.EntryOf(r).Record() == m.Record() {
			return r, true
		}
	}
	r, err := v.Revision(m.Name, string(m.Release)+"-"+m.Revision)
	return r, err == nil && bucket.EntryOf(r).Record() == m.Record()
}

// Rename makes the publication name this host's records where those in the bucket cannot be
// repaired.
func (v *Verification) Rename(g *bucket.Generation) {
	g.Manifests = slices.Clone(g.Manifests)
	for i := range g.Manifests {
		if f := v.records[g.Manifests[i].Record()]; f != nil && errors.Is(f.unmended, errNeedsGeneration) {
			g.Manifests[i].RecordSHA256 = manifest.ObjectID{}
		}
	}
}

// newestOf is the line whose current.json, or the generation that it names, has or is the finding;
// nil for none.
func (v *Verification) newestOf(f *finding) *line {
	for _, l := range v.lines {
		if f.name == l.Current || f.number == l.at.Generation && f.number != 0 {
			return l
		}
	}
	return nil
}

// Published notes that a generation was published for a line after the repair.
func (v *Verification) Published(current string) {
	for _, f := range v.found {
		if l := v.newestOf(f); errors.Is(f.unmended, errNeedsGeneration) && l != nil && l.Current == current {
			f.unmended, f.repaired = nil, true
		}
	}
}
