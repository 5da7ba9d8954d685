package source

import (
	"fmt"
	"slices"

	"github.com/dustin/go-humanize"

	"syncd/internal/changes"
	"syncd/internal/disk/space"
	"syncd/internal/golive/rows"
	"syncd/internal/manifest"
	"syncd/internal/manifest/refusal"
	"syncd/internal/mirror"
)

// Guards refuse a release that looks like a mistake of the provider.
type Guards struct {
	MinKeepRatio  float64 // of the files of the served release
	MinBytesRatio float64 // of their bytes
	MaxFileShrink float64 // share of its bytes that a served file may lose; 0 and 1 are no limit
}

// shrinkable is the size up to which a file may shrink, but not to nothing.
const shrinkable = 64 << 10

// CheckCount refuses a list of files that would empty the mirror. Counts are before
// filters.
func (e *Entry) CheckCount(g Guards, listed int, served mirror.Record) error {
	if listed == 0 {
		return refusal.New(refusal.Empty, "release %s of %s lists no files", e.answer.Release, e.Target.Name)
	}
	if served.Manifest != "" && !e.IsChosen() && !e.Force && float64(listed) < g.MinKeepRatio*float64(served.Listed) {
		return refusal.New(refusal.Shrink, "the list of release %s shrank from %d files to %d, below guards.min_keep_ratio %g: %s",
			e.answer.Release, served.Listed, listed, g.MinKeepRatio, e.choice(served))
	}
	return nil
}

// CheckBytes refuses planned files that have far fewer bytes than the served ones, which is
// how a provider's empty or cut files look. size returns false while the size of a file is
// not known; then the release is accepted, and checked again before it goes live.
func (e *Entry) CheckBytes(g Guards, planned []manifest.File, size func(manifest.Digest) (int64, bool), served mirror.Record) error {
	if g.MinBytesRatio == 0 || served.Manifest == "" || e.Force || e.AllOrNothing() {
		return nil
	}
	var now int64
	for _, f := range planned {
		bytes, known := size(f.Expected)
		if !known {
			return nil
		}
		now = min(now+bytes, space.Max)
	}
	before := e.comparableBytes(planned, served)
	if float64(now) >= g.MinBytesRatio*float64(before) {
		return nil
	}
	return refusal.New(refusal.Shrink, "release %s shrank from %s to %s, below guards.min_bytes_ratio %g: %s",
		e.answer.Release, humanize.IBytes(uint64(before)), humanize.IBytes(uint64(now)), g.MinBytesRatio, e.choice(served))
}

// CheckFiles refuses a release in which a served file shrank to nothing, or a large one by
// more than its limit: a provider whose disk is full publishes such files. The digest tells
// an empty file. size is as for CheckBytes; a Metadata that says 0 of other bytes is wrong.
// An older release is an order of an operator, and its files may be smaller.
func (e *Entry) CheckFiles(g Guards, planned []manifest.File, size func(manifest.Digest) (int64, bool), served mirror.Record) error {
	if g.MaxFileShrink == 0 || g.MaxFileShrink >= 1 || e.Force || e.AllOrNothing() || served.Release.Newer(e.answer.Release) {
		return nil
	}
	var first string
	more := 0
	for _, f := range planned {
		before, found := served.File(f.Path)
		if !found || before.Size == 0 || before.Expected == f.Expected {
			continue
		}
		now, known := size(f.Expected)
		isCut := known && now > 0 && before.Size > shrinkable && float64(before.Size-now) > g.MaxFileShrink*float64(before.Size)
		switch isEmpty := f.Expected.IsOfNothing(); {
		case !isEmpty && !isCut:
		case first != "":
			more++
		case isEmpty:
			first = fmt.Sprintf("%q is empty and had %s", f.Path, humanize.IBytes(uint64(before.Size)))
		default:
			first = fmt.Sprintf("%q shrank from %s to %s", f.Path, humanize.IBytes(uint64(before.Size)), humanize.IBytes(uint64(now)))
		}
	}
	if first == "" {
		return nil
	}
	if more > 0 {
		first += fmt.Sprintf(" (and %d more)", more)
	}
	return refusal.New(refusal.Shrink, "release %s: the file %s, beyond guards.max_file_shrink %g%%: %s",
		e.answer.Release, first, 100*g.MaxFileShrink, e.choice(served))
}

// CheckRows refuses a release that lost too many rows, as one that was cut in half. An older
// release is an order of an operator.
func (e *Entry) CheckRows(rule rows.Rule, compared changes.Compared, served mirror.Record) error {
	loss, found := rule.Excess(compared)
	if !found || e.Force || e.AllOrNothing() || served.Release.Newer(e.answer.Release) {
		return nil
	}
	of := fmt.Sprintf("%q lost", loss.Path)
	if loss.Path == "" {
		of = "the files lost"
	}
	return refusal.New(refusal.Shrink, "release %s: %s %s of %s rows, beyond guards.max_rows_gone %g%%: %s",
		e.answer.Release, of, humanize.Comma(loss.Gone), humanize.Comma(loss.Of), 100*rule.MaxGone, e.choice(served))
}

// choice names the commands by which the operator decides about a release that shrank. A
// skip helps only against a newer month that is mirrored as the latest.
func (e *Entry) choice(served mirror.Record) string {
	text := fmt.Sprintf("check it with `syncd files %s`; `syncd sync --force %s` accepts it", e.Target.Name, e.Target.Name)
	if e.Target.Release == manifest.Latest && e.answer.Release.IsMonth() && e.answer.Release != served.Release {
		text += fmt.Sprintf(", `syncd skip %s %s` passes over it", e.Target.Name, e.answer.Release)
	}
	return text
}

// comparableBytes adds up the sizes of the served files that the present configuration
// chooses, so that a narrower filter is no shrinking.
func (e *Entry) comparableBytes(planned []manifest.File, served mirror.Record) (sum int64) {
	for _, f := range served.Files {
		if e.chooses(f, planned) {
			sum = min(sum+f.Size, space.Max)
		}
	}
	return sum
}

// chooses is true when the configuration chooses a served file today.
func (e *Entry) chooses(f mirror.File, planned []manifest.File) bool {
	if e.IsChosen() {
		return slices.ContainsFunc(planned, func(p manifest.File) bool { return p.Path == f.Path })
	}
	return f.Reference != "" && e.Target.Filter.Passes(f.Reference)
}
