package rows

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"

	"syncd/internal/changes"
	"syncd/internal/changes/spill"
	"syncd/internal/manifest"
	"syncd/internal/mirror"
)

// Rule is what a configuration says of the rows of a manifest.
type Rule struct {
	Formats []changes.Rule
	MaxGone float64 // share of the rows that may go; 0 and 1 are no limit
}

// Guards is true if rows may keep a revision from going live.
func (r Rule) Guards() bool { return r.MaxGone > 0 && r.MaxGone < 1 }

// Compares is true if the rows of new revisions are compared.
func (r Rule) Compares() bool { return r.Guards() || len(r.Formats) > 0 }

// id identifies what a comparison depends on beside the contents.
func (r Rule) id() string {
	text, _ := json.Marshal(r.Formats) // cannot fail
	if r.Guards() {
		text = append(text, "guard"...)
	}
	digest := sha256.Sum256(text)
	return hex.EncodeToString(digest[:6])
}

// Docket lets one comparison run at a time. Safe for concurrent use.
type Docket struct{ turn chan struct{} }

// NewDocket returns a Docket.
func NewDocket() *Docket { return &Docket{turn: make(chan struct{}, 1)} }

// Case is a revision that is to go live.
type Case struct {
	Mirror *mirror.Mirror
	Served mirror.Record
	Next   mirror.Record
	Rule   Rule
	Known  []changes.Compared // results of before
}

// Compare compares the rows of both revisions, unless the result is known.
func (d *Docket) Compare(ctx context.Context, c Case) (changes.Compared, error) {
	if known, found := changes.Find(c.Known, c.Served.ID(), c.Next.ID()); found && known.Rule == c.Rule.id() {
		return known, nil
	}
	select {
	case d.turn <- struct{}{}:
		defer func() { <-d.turn }()
	case <-ctx.Done():
		return changes.Compared{}, context.Cause(ctx)
	}
	state, err := c.Mirror.Root().OpenDir("state")
	if err != nil {
		return changes.Compared{}, err
	}
	defer state.Close() //nolint:errcheck // nothing is kept in it
	comparison := changes.Comparison{Rules: c.Rule.Formats, Scratch: spill.Folder{Dir: state}}
	before, after := c.folder(c.Served), c.folder(c.Next)
	all := changes.Files(before.Files, after.Files)
	if err := comparison.Rows(ctx, before, after, all); err != nil {
		return changes.Compared{}, err
	}
	result := Of(c.Served, c.Next, all)
	result.Rule = c.Rule.id()
	if c.Rule.Guards() {
		result.Worst, result.All, err = comparison.Losses(ctx, before, after, all)
	}
	return result, err
}

// folder opens the files of a record by their contents, because the tree of a revision that
// has no gate is made when it goes live.
func (c Case) folder(r mirror.Record) changes.Folder {
	objects := make(map[string]manifest.ObjectID, len(r.Files))
	for _, f := range r.Files {
		objects[f.Path] = f.Object
	}
	return changes.Folder{Files: files(r), Open: func(path string) (*os.File, error) { return c.Mirror.Objects.Open(objects[path]) }}
}

func files(r mirror.Record) []changes.File {
	list := make([]changes.File, len(r.Files))
	for i, f := range r.Files {
		list[i] = changes.File{Path: f.Path, Size: f.Size, Object: f.Object}
	}
	return list
}

// Of is how two revisions differ.
func Of(before, after mirror.Record, all []changes.Change) changes.Compared {
	return changes.Compared{From: before.ID(), To: after.ID(), Summary: changes.Summarize(files(before), files(after), all)}
}

// OfFiles compares two records without reading a file.
func OfFiles(before, after mirror.Record) changes.Compared {
	return Of(before, after, changes.Files(files(before), files(after)))
}

// Excess returns the loss that is beyond the limit, if any: of one file, or of all.
func (r Rule) Excess(c changes.Compared) (changes.Loss, bool) {
	if !r.Guards() {
		return changes.Loss{}, false
	}
	for _, loss := range []changes.Loss{c.Worst, c.All} {
		if loss.Share() > r.MaxGone {
			return loss, true
		}
	}
	return changes.Loss{}, false
}
