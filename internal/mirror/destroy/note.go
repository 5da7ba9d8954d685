package destroy

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"syncd/internal/manifest"
	"syncd/internal/mirror"
)

// Cause is why a revision was destroyed.
type Cause string

// The causes of the contract.
const (
	DestroyAfter Cause = "destroy_after" // of the configuration
	Command      Cause = "command"       // syncd destroy
	Publisher    Cause = "publisher"     // its destroy_after
)

// Order names a revision to destroy.
type Order struct {
	Manifest string
	Release  manifest.Release
	Revision string // "" for the fragments of a release that was never complete
	Cause    Cause
}

// ID names the revision's directory.
func (o Order) ID() string { return string(o.Release) + "-" + o.Revision }

// Destruction is the record of one destruction, as `destroyed --json` prints it.
type Destruction struct {
	Manifest string           `json:"manifest"`
	Release  manifest.Release `json:"release"`
	Revision string           `json:"revision"` // "" if the release was never complete
	At       time.Time        `json:"at"`       // when the last name was gone
	Cause    Cause            `json:"cause"`
	Patches  int              `json:"patches,omitempty"` // for other hosts, that were made of what has gone
	Contents []Content        `json:"contents"`
	Readers  []Reader         `json:"readers"` // that had files of it open or mapped
}

// Content is a content of a destroyed revision. It is gone unless something shares it.
type Content struct {
	SHA256     string   `json:"sha256"` // "" for a part of a file whose SHA-256 is not known
	Size       int64    `json:"size"`
	SharedWith []string `json:"shared_with"` // MANIFEST/RELEASE-REVISION of what keeps it; empty when it is gone

	Links int    `json:"links,omitempty"` // hard links of what is gone that syncd did not make, somewhere on the file system
	Inode uint64 `json:"inode,omitempty"` // of such links
}

// Reader is a process that can read what it had open until it closes it.
type Reader struct {
	PID     int      `json:"pid"`
	Command string   `json:"command"`
	Files   []string `json:"files"` // paths within the manifest; the first ones
}

// GoneBytes is the size of the contents that are gone.
func (d Destruction) GoneBytes() (sum int64) {
	for _, c := range d.Contents {
		if len(c.SharedWith) == 0 {
			sum += c.Size
		}
	}
	return sum
}

// Linked counts the contents that are gone here, and have names elsewhere.
func (d Destruction) Linked() (count int) {
	for _, c := range d.Contents {
		if c.Links > 0 {
			count++
		}
	}
	return count
}

// Gone counts the contents that are gone.
func (d Destruction) Gone() (count int) {
	for _, c := range d.Contents {
		if len(c.SharedWith) == 0 {
			count++
		}
	}
	return count
}

// Note is a destruction from its beginning, as it lies on disk. All that is short comes before
// the contents, see Ledger.
type Note struct {
	BegunAt   time.Time `json:"begun_at"`
	AllowedAt time.Time `json:"allowed_at,omitzero"` // when an operator asked for the revision again
	Destruction
	Expected []manifest.Digest `json:"promised"` // the Hash endpoint's digests of its files, sorted, each once

	file string // below the directory of notes
}

// IsOver is true once everything is gone.
func (n Note) IsOver() bool { return !n.At.IsZero() }

// Order is what the note was made for.
func (n Note) Order() Order {
	return Order{Manifest: n.Manifest, Release: n.Release, Revision: n.Revision, Cause: n.Cause}
}

// NewNote returns the note of a revision.
func NewNote(o Order, record mirror.Record, now time.Time) Note {
	n := Note{
		Destruction: Destruction{Manifest: o.Manifest, Release: o.Release, Revision: o.Revision, Cause: o.Cause, Contents: []Content{}, Readers: []Reader{}},
		BegunAt:     now.UTC(),
	}
	for _, f := range record.Files {
		n.Add(f.Object.String(), f.Size, f.Expected)
	}
	return n.Sorted()
}

// Add adds a content of which size bytes are on disk; id is "" if its SHA-256 is not known.
// size is negative if nothing of it is.
func (n *Note) Add(id string, size int64, expected manifest.Digest) {
	if size >= 0 {
		n.Contents = append(n.Contents, Content{SHA256: id, Size: size, SharedWith: []string{}})
	}
	n.Expected = append(n.Expected, expected)
}

// Sorted returns the note with each content once, however many files have it.
func (n Note) Sorted() Note {
	slices.SortFunc(n.Contents, compareContents)
	n.Contents = slices.CompactFunc(n.Contents, func(a, b Content) bool { return compareContents(a, b) == 0 })
	slices.SortFunc(n.Expected, compareDigests)
	n.Expected = slices.Compact(n.Expected)
	return n
}

// keepsOut is true if a list of a release has the contents of the note, or a part of them.
// Another list is another revision, which the provider has made since.
func (n Note) keepsOut(expected []manifest.Digest) bool {
	destroyed, known := n.digests()
	listed, isPart := make(map[manifest.Digest]bool, len(expected)), true
	for _, d := range expected {
		if !known[d.Algorithm] {
			return true // it may be the same
		}
		listed[d] = true
		isPart = isPart && destroyed[d]
	}
	return isPart || !slices.ContainsFunc(n.Expected, func(d manifest.Digest) bool { return !listed[d] })
}

// digests are those of the contents, and the algorithms that all of them are known by.
func (n Note) digests() (destroyed map[manifest.Digest]bool, known map[manifest.Algorithm]bool) {
	destroyed, known = map[manifest.Digest]bool{}, map[manifest.Algorithm]bool{}
	for _, d := range n.Expected {
		destroyed[d], known[d.Algorithm] = true, true
	}
	for _, c := range n.Contents {
		if id, err := manifest.ParseObjectID(c.SHA256); err == nil {
			destroyed[id.Digest()], known[manifest.SHA256] = true, true
		}
	}
	return destroyed, known
}

func compareContents(a, b Content) int {
	return cmp.Or(cmp.Compare(a.SHA256, b.SHA256), cmp.Compare(a.Size, b.Size))
}

func compareDigests(a, b manifest.Digest) int {
	return cmp.Or(cmp.Compare(a.Algorithm, b.Algorithm), bytes.Compare(a.Sum[:], b.Sum[:]))
}
