package bucket

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"path"
	"slices"
	"strings"

	"syncd/internal/manifest"
)

// Empty is the content of no bytes. The patch from it is the compressed whole.
var Empty = manifest.ObjectID(sha256.Sum256(nil))

// PatchName is the name of the patch that makes the content after of before.
func PatchName(before, after manifest.ObjectID) string {
	return Patches + before.String() + "-" + after.String()
}

// ParsePatchName reads what PatchName writes.
func ParsePatchName(name string) (before, after manifest.ObjectID, ok bool) {
	one, other, _ := strings.Cut(path.Base(name), "-")
	before, err := manifest.ParseObjectID(one)
	after, otherErr := manifest.ParseObjectID(other)
	if cmp.Or(err, otherErr) != nil || PatchName(before, after) != name {
		return manifest.ObjectID{}, manifest.ObjectID{}, false
	}
	return before, after, true
}

// PatchListName is the name of the list of the patches for a revision. It lies among the
// patches as the revision's record among the records.
func PatchListName(m Manifest) string { return Patches + strings.TrimPrefix(m.Record(), Records) }

// PatchListRecord is the name of the record whose list has a name.
func PatchListRecord(name string) (record string, ok bool) {
	after, found := strings.CutPrefix(name, Patches)
	record = Records + after
	return record, found && IsRecordName(record)
}

// Patch is a patch that can be had.
type Patch struct {
	Old  manifest.ObjectID `json:"old"`
	New  manifest.ObjectID `json:"new"`
	Size int64             `json:"size"` // bytes of the patch

	SHA256 manifest.ObjectID `json:"sha256,omitzero"` // of the patch, in a bundle; elsewhere zero
}

// Name is its name.
func (p Patch) Name() string { return PatchName(p.Old, p.New) }

// PatchList says which patches can be had for the contents of a revision. Nobody signs it: a
// content is proven by its own digest, whatever it was made of.
type PatchList struct {
	Form    int     `json:"syncd_bucket"`
	Patches []Patch `json:"patches"` // sorted by the new content, then by the old one
}

// MaxPatches is how many patches a list has: the text of so many fits MaxText.
const MaxPatches = 20_000

// NewPatchList returns the list of patches. If there are too many, it has those of the
// largest contents: size tells the size of one.
func NewPatchList(patches []Patch, size func(manifest.ObjectID) int64) PatchList {
	if len(patches) > MaxPatches {
		patches = slices.Clone(patches)
		slices.SortStableFunc(patches, func(a, b Patch) int { return cmp.Compare(size(b.New), size(a.New)) })
		patches = patches[:MaxPatches]
	}
	patches = slices.SortedFunc(slices.Values(patches), comparePatches)
	return PatchList{form, slices.CompactFunc(patches, func(a, b Patch) bool { return comparePatches(a, b) == 0 })}
}

func comparePatches(a, b Patch) int {
	return cmp.Or(slices.Compare(a.New[:], b.New[:]), slices.Compare(a.Old[:], b.Old[:]))
}

// Text is the text of a list.
func (l PatchList) Text() []byte {
	l.Form = form
	if l.Patches == nil {
		l.Patches = []Patch{}
	}
	return encode(l)
}

// ParsePatchList reads the list with a name.
func ParsePatchList(name string, data []byte) (PatchList, error) {
	var l PatchList
	err := decode(name, data, &l)
	if err != nil {
		return PatchList{}, err
	}
	if err = l.check(); err != nil {
		return PatchList{}, fmt.Errorf("%s: %w", name, err)
	}
	return l, nil
}

func (l PatchList) check() error {
	if err := checkForm(l.Form); err != nil {
		return err
	}
	for i, p := range l.Patches {
		switch {
		case p.Size < 1 || p.Old.IsZero() || p.New.IsZero() || p.Old == p.New || p.New == Empty:
			return fmt.Errorf("a patch of %d bytes from %s to %s", p.Size, p.Old, p.New)
		case i > 0 && comparePatches(l.Patches[i-1], p) >= 0:
			return fmt.Errorf("the patch from %s to %s is named twice or is not in order", p.Old, p.New)
		}
	}
	return nil
}
