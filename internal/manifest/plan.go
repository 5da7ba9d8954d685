package manifest

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
)

// File is one file of a release, with its expected digest.
type File struct {
	Reference Reference
	Path      string // within the manifest
	Expected  Digest // from the Hash endpoint
	Slash     bool   // the provider's link has a slash before its query
	Position  int32  // in the provider's list, from 1 on; 0 if it is not known
	InRecord  bool   // a record of the source names the content by its SHA-256
}

// Plan splits a release into contents that are on disk and contents to fetch.
type Plan struct {
	Files   []File
	Known   map[Digest]Object // expected digests whose content is on disk
	Missing []*File           // one of Files for each expected digest to fetch, in their order
}

// NewPlan makes a plan. It calls known once for each expected digest.
func NewPlan(files []File, known func(File) (Object, bool)) Plan {
	plan := Plan{Files: files, Known: make(map[Digest]Object, len(files))}
	asked := make(map[Digest]bool, len(files))
	for i := range files {
		f := &files[i]
		if asked[f.Expected] {
			continue
		}
		asked[f.Expected] = true
		if object, ok := known(*f); ok {
			plan.Known[f.Expected] = object
		} else {
			plan.Missing = append(plan.Missing, f)
		}
	}
	return plan
}

// Fingerprint identifies the paths and expected digests of a set of files, in any
// order. Two sets have equal fingerprints exactly when these are equal.
func Fingerprint(files []File) string {
	lines := make([]string, len(files))
	for i, f := range files {
		lines[i] = f.Expected.String() + "  " + f.Path
	}
	return hashLines(lines)
}

// RevisionID names a set of files by content: the first 12 hex digits of the
// SHA-256 over the sorted `sha256  path` lines, each ended by a newline.
func RevisionID(sums []Sum) string {
	lines := make([]string, len(sums))
	for i, s := range sums {
		lines[i] = s.Object.String() + "  " + s.Path
	}
	return hashLines(lines)[:12]
}

// Sum is the content and the path of a proven file.
type Sum struct {
	Object ObjectID
	Path   string
}

func hashLines(lines []string) string {
	slices.Sort(lines)
	h := sha256.New()
	for _, line := range lines {
		h.Write([]byte(line))
		h.Write([]byte{'\n'})
	}
	return hex.EncodeToString(h.Sum(nil))
}
