package manifest

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
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
	Files    []File
	Contents *Contents      // of Files
	Known    *Table[Object] // contents that are on disk
	Missing  []*File        // one of Files for each content to fetch, in their order
}

// NewPlan makes a plan. It calls known once for each content.
func NewPlan(files []File, known func(File) (Object, bool)) Plan {
	contents := ContentsOf(files)
	plan := Plan{Files: files, Contents: contents, Known: NewTable[Object](contents)}
	for i := range files {
		f := &files[i]
		if number, _ := contents.Find(f.Expected); contents.File(number) != f {
			continue
		}
		if object, ok := known(*f); ok {
			plan.Known.Put(f.Expected, object)
		} else {
			plan.Missing = append(plan.Missing, f)
		}
	}
	return plan
}

// Fingerprint identifies the paths and expected digests of a set of files, in any
// order. Two sets have equal fingerprints exactly when these are equal.
func Fingerprint(files []File) string {
	order := orderOf(len(files), func(x, y int32) int {
		a, b := &files[x], &files[y]
		return cmp.Or(cmp.Compare(a.Expected.rank(), b.Expected.rank()), bytes.Compare(a.Expected.Sum[:], b.Expected.Sum[:]), strings.Compare(a.Path, b.Path))
	})
	return hashLines(len(order), func(line []byte, i int) []byte {
		f := &files[order[i]]
		return append(append(f.Expected.AppendTo(line), "  "...), f.Path...)
	})
}

// RevisionID names a set of files by content: the first 12 hex digits of the
// SHA-256 over the sorted `sha256  path` lines, each ended by a newline.
func RevisionID(sums []Sum) string {
	order := orderOf(len(sums), func(x, y int32) int {
		a, b := &sums[x], &sums[y]
		return cmp.Or(bytes.Compare(a.Object[:], b.Object[:]), strings.Compare(a.Path, b.Path))
	})
	return hashLines(len(order), func(line []byte, i int) []byte {
		s := &sums[order[i]]
		return append(append(hex.AppendEncode(line, s.Object[:]), "  "...), s.Path...)
	})[:12]
}

// Sum is the content and the path of a proven file.
type Sum struct {
	Object ObjectID
	Path   string
}

// hashTexts hashes lines, which it sorts.
func hashTexts(lines []string) string {
	slices.Sort(lines)
	return hashLines(len(lines), func(line []byte, i int) []byte { return append(line, lines[i]...) })
}

// orderOf returns the numbers below n in the order that compare says: the lines of 250,000
// files would take 30 MiB.
func orderOf(n int, compare func(x, y int32) int) []int32 {
	order := make([]int32, n)
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, compare)
	return order
}

// hashLines hashes n lines that add appends, each ended by a newline.
func hashLines(n int, add func(line []byte, i int) []byte) string {
	h := sha256.New()
	var line []byte
	for i := range n {
		line = append(add(line[:0], i), '\n')
		h.Write(line)
	}
	return hex.EncodeToString(h.Sum(nil))
}
