package patches

import (
	"cmp"
	"slices"

	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/patch"
	"syncd/internal/manifest"
	"syncd/internal/mirror/record"
)

// Settings say which patches are made. The zero value is none.
type Settings struct {
	From     int     // revisions before the newest one
	MaxShare float64 // of the whole content that a patch may have, above 0 to 1
}

// isOn is true when patches are made.
func (s Settings) isOn() bool { return s.From > 0 }

// want is a patch that may be of use.
type want struct {
	before, after patch.Identity
	rank          int // a lower one is made first
}

func (w want) pair() Pair { return Pair{Old: w.before.Digest, New: w.after.Digest} }

// The ranks of patches: first those from the revision before, then the compressed wholes, then
// those from earlier revisions.
const rankOfWhole = 1

// wholes lists the compressed forms of the contents of a record.
func wholes(newest record.Record) (wants []want) {
	for _, f := range newest.Files {
		if f.Size >= Smallest {
			wants = append(wants, want{patch.Identity{Digest: bucket.Empty}, identityOf(f), rankOfWhole})
		}
	}
	return wants
}

// steps lists the patches from a revision, which is the newest of the earlier ones for number
// 0, to the contents that the newest one has at the same paths.
func steps(newest, earlier record.Record, number int) (wants []want) {
	had, at := map[manifest.ObjectID]bool{}, make(map[string]record.File, len(earlier.Files))
	for _, f := range earlier.Files {
		had[f.Object], at[f.Path] = true, f
	}
	for _, f := range newest.Files {
		was, found := at[f.Path]
		if f.Size >= Smallest && found && was.Size > 0 && !had[f.Object] {
			wants = append(wants, want{identityOf(was), identityOf(f), 2 * number})
		}
	}
	return wants
}

func identityOf(f record.File) patch.Identity {
	return patch.Identity{Size: f.Size, Digest: f.Object}
}

// arrange puts patches in the order of their making, each once.
func arrange(wants []want) []want {
	slices.SortStableFunc(wants, func(a, b want) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(b.after.Size, a.after.Size))
	})
	seen := map[Pair]bool{}
	return slices.DeleteFunc(wants, func(w want) bool {
		again := seen[w.pair()]
		seen[w.pair()] = true
		return again
	})
}
