package destroy

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"syncd/internal/disk/durable"
	"syncd/internal/disk/fsops"
	"syncd/internal/manifest"
)

const (
	dir = "state/destroyed"

	// maxNotes is how many notes of a manifest are kept, the newest: 80 years of months.
	maxNotes = 1000
	// maxBytes bounds the notes of a manifest together, after the newest one.
	maxBytes = 256 << 20
	// maxNote bounds one note. A longer file is another program's.
	maxNote = 128 << 20
	// maxParts bounds the values of one note, which take more memory than text: 1,000,000
	// contents and digests have less. Commas count them.
	maxParts = 8_000_000
)

// bounded ends the text of a note that has too many values.
type bounded struct {
	text  io.Reader
	parts int
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.text.Read(p)
	if b.parts += bytes.Count(p[:n], []byte(",")); b.parts > maxParts {
		return 0, errors.New("it is longer than any that syncd writes")
	}
	return n, err
}

// Ledger keeps the notes of a data directory, one file each, apart from the state database:
// losing that loses none. Reading is safe for concurrent use; the caller makes one change at
// a time.
type Ledger struct {
	root *fsops.Dir
	disk *durable.Disk
}

// NewLedger returns the ledger in a data directory. disk is nil for one that is only read.
func NewLedger(root *fsops.Dir, disk *durable.Disk) *Ledger { return &Ledger{root, disk} }

// Destructions returns the records of a manifest, of all with "", the oldest first. One that
// is not over is none yet.
func (l *Ledger) Destructions(name string) ([]Destruction, error) {
	notes, err := l.notes(name)
	list := []Destruction{}
	for _, n := range notes {
		if n.IsOver() {
			list = append(list, n.Destruction)
		}
	}
	slices.SortStableFunc(list, func(a, b Destruction) int { return a.At.Compare(b.At) })
	return list, err
}

// Pending returns the notes of destructions that have begun and are not over.
func (l *Ledger) Pending() ([]Note, error) {
	notes, err := l.notes("")
	return slices.DeleteFunc(notes, Note.IsOver), err
}

// Last returns the newest note of a release that keeps it out of syncs: since then, nobody
// has asked for it again.
func (l *Ledger) Last(name string, release manifest.Release) (last Note, found bool, err error) {
	notes, err := l.of(name, release)
	for _, n := range notes {
		if n.AllowedAt.IsZero() && (!found || n.BegunAt.After(last.BegunAt)) {
			last, found = n, true
		}
	}
	return last, found, err
}

// KeepsOut returns the note that keeps a list of a release out of syncs.
func (l *Ledger) KeepsOut(name string, release manifest.Release, expected []manifest.Digest) (by Note, found bool, err error) {
	notes, err := l.of(name, release)
	for _, n := range notes {
		if n.AllowedAt.IsZero() && n.keepsOut(expected) {
			return n, true, nil
		}
	}
	return by, false, err
}

// Begin makes a new note durable, or returns the pending one of the same revision.
func (l *Ledger) Begin(n Note) (Note, error) {
	notes, err := l.of(n.Manifest, n.Release)
	if err != nil {
		return n, err
	}
	for _, other := range notes {
		if other.Revision == n.Revision && !other.IsOver() {
			return other, nil
		}
	}
	folder := filepath.Join(dir, n.Manifest)
	for _, made := range []string{dir, folder} {
		if err := l.root.EnsureDir(made, 0o700); err != nil {
			return n, err
		}
		if err := l.disk.SyncDir(l.root, filepath.Dir(made)); err != nil {
			return n, err
		}
	}
	if err := l.trim(n.Manifest); err != nil {
		return n, err
	}
	number := 1
	for _, other := range notes {
		if _, text, found := strings.Cut(other.file, n.Order().ID()+"."); found {
			last, _ := strconv.Atoi(text) // 0 for the file of somebody else
			number = max(number, last+1)
		}
	}
	n.file = filepath.Join(n.Manifest, n.Order().ID()+"."+strconv.Itoa(number))
	return n, l.save(n)
}

// Finish makes the end of a note durable.
func (l *Ledger) Finish(n Note, at time.Time) (Note, error) {
	n.At = at.UTC()
	return n, l.save(n)
}

// Allow notes that an operator asked for a release again. It is an error while one of its
// destructions is not over.
func (l *Ledger) Allow(name string, release manifest.Release, now time.Time) error {
	notes, err := l.of(name, release)
	for _, n := range notes {
		if !n.IsOver() {
			return fmt.Errorf("the destruction of %s %s is not over: see the log, or restart syncd", name, n.Order().ID())
		}
		if n.AllowedAt.IsZero() {
			n.AllowedAt = now.UTC()
			err = errors.Join(err, l.save(n))
		}
	}
	return err
}

func (l *Ledger) save(n Note) error {
	return l.disk.ReplaceFile(l.root, filepath.Join(dir, n.file), 0o600, func(w io.Writer) error { return json.NewEncoder(w).Encode(n) })
}

// of returns the notes of a release.
func (l *Ledger) of(name string, release manifest.Release) (notes []Note, err error) {
	files, err := l.names(name)
	for _, file := range files {
		if !strings.HasPrefix(file, string(release)+"-") {
			continue
		}
		n, readErr := l.read(filepath.Join(name, file))
		if err = errors.Join(err, readErr); readErr == nil && n.Release == release {
			notes = append(notes, n)
		}
	}
	return notes, err
}

// notes returns the notes of a manifest, of all with "". One that cannot be read is an error
// beside the others.
func (l *Ledger) notes(name string) (notes []Note, err error) {
	names := []string{name}
	if name == "" {
		if names, err = l.names("."); err != nil {
			return nil, err
		}
	}
	for _, name := range names {
		files, listErr := l.names(name)
		err = errors.Join(err, listErr)
		for _, file := range files {
			n, readErr := l.read(filepath.Join(name, file))
			if err = errors.Join(err, readErr); readErr == nil {
				notes = append(notes, n)
			}
		}
	}
	slices.SortStableFunc(notes, func(a, b Note) int { return a.BegunAt.Compare(b.BegunAt) })
	return notes, err
}

// names lists a folder of notes, without unfinished files. A missing one is empty.
func (l *Ledger) names(folder string) ([]string, error) {
	names, err := l.root.Names(filepath.Join(dir, folder))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return slices.DeleteFunc(names, fsops.IsTemp), err
}

func (l *Ledger) read(file string) (n Note, err error) {
	f, err := l.root.OpenRegular(filepath.Join(dir, file))
	if err != nil {
		return n, err
	}
	defer f.Close()
	if err := json.NewDecoder(&bounded{text: io.LimitReader(f, maxNote)}).Decode(&n); err != nil {
		return n, fmt.Errorf("%s is no record of a destruction: move it away: %w", f.Name(), err)
	}
	if n.Manifest != filepath.Dir(file) {
		return n, fmt.Errorf("%s is the record of another manifest: move it away", f.Name())
	}
	n.file = file
	return n, nil
}

// trim sweeps unfinished files, and removes the oldest notes above the limits. A note that
// is not over stays.
func (l *Ledger) trim(name string) error {
	folder := filepath.Join(dir, name)
	err := l.root.SweepTemps(folder)
	notes, _ := l.notes(name) // a damaged one stays
	slices.SortStableFunc(notes, func(a, b Note) int { return cmp.Compare(b.BegunAt.UnixNano(), a.BegunAt.UnixNano()) })
	var size int64
	for i, n := range notes {
		info, statErr := l.root.Lstat(filepath.Join(dir, n.file))
		if statErr != nil {
			return statErr
		}
		if size += info.Size(); n.IsOver() && (i+1 >= maxNotes || size > maxBytes) {
			err = errors.Join(err, l.root.Remove(filepath.Join(dir, n.file)))
		}
	}
	return err
}
