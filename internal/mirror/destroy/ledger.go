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
	// maxHead bounds what comes before the contents.
	maxHead = 64 << 10
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
//
// The notes of a manifest can be far longer than all else that a process holds in memory. So
// only their heads are read together: notes without contents, readers and digests.
type Ledger struct {
	root *fsops.Dir
	disk *durable.Disk
}

// NewLedger returns the ledger in a data directory. disk is nil for one that is only read.
func NewLedger(root *fsops.Dir, disk *durable.Disk) *Ledger { return &Ledger{root, disk} }

// Destructions returns the records of a manifest, of all with "", the oldest first. One that
// is not over is none yet.
func (l *Ledger) Destructions(name string) ([]Destruction, error) {
	return over(l.notes(name, l.read))
}

// Heads returns the records of a manifest as Destructions does, without what is in them.
func (l *Ledger) Heads(name string) ([]Destruction, error) { return over(l.notes(name, l.head)) }

func over(notes []Note, err error) ([]Destruction, error) {
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
func (l *Ledger) Pending() (pending []Note, err error) {
	heads, err := l.notes("", l.head)
	for _, n := range heads {
		if n.IsOver() {
			continue
		}
		n, readErr := l.read(n.file)
		if err = errors.Join(err, readErr); readErr == nil {
			pending = append(pending, n)
		}
	}
	return pending, err
}

// Last returns the head of the newest note of a release that keeps it out of syncs: since
// then, nobody has asked for it again.
func (l *Ledger) Last(name string, release manifest.Release) (last Note, found bool, err error) {
	heads, err := l.of(name, release)
	for _, n := range heads {
		if n.AllowedAt.IsZero() && (!found || n.BegunAt.After(last.BegunAt)) {
			last, found = n, true
		}
	}
	return last, found, err
}

// KeepsOut returns the note that keeps a list of a release out of syncs.
func (l *Ledger) KeepsOut(name string, release manifest.Release, expected []manifest.Digest) (by Note, found bool, err error) {
	heads, err := l.of(name, release)
	for _, n := range heads {
		if !n.AllowedAt.IsZero() {
			continue
		}
		n, readErr := l.read(n.file)
		if err = errors.Join(err, readErr); readErr == nil && n.keepsOut(expected) {
			return n, true, nil
		}
	}
	return by, false, err
}

// Begin makes a new note durable, or returns the pending one of the same revision.
func (l *Ledger) Begin(n Note) (Note, error) {
	heads, err := l.of(n.Manifest, n.Release)
	if err != nil {
		return n, err
	}
	for _, other := range heads {
		if other.Revision == n.Revision && !other.IsOver() {
			return l.read(other.file)
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
	for _, other := range heads {
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
	heads, err := l.of(name, release)
	for _, head := range heads {
		if !head.IsOver() {
			return fmt.Errorf("the destruction of %s %s is not over: see the log, or restart syncd", name, head.Order().ID())
		}
		if !head.AllowedAt.IsZero() {
			continue
		}
		n, readErr := l.read(head.file)
		if err = errors.Join(err, readErr); readErr == nil {
			n.AllowedAt = now.UTC()
			err = errors.Join(err, l.save(n))
		}
	}
	return err
}

func (l *Ledger) save(n Note) error {
	return l.disk.ReplaceFile(l.root, filepath.Join(dir, n.file), 0o600, func(w io.Writer) error { return json.NewEncoder(w).Encode(n) })
}

// of returns the heads of the notes of a release.
func (l *Ledger) of(name string, release manifest.Release) (heads []Note, err error) {
	files, err := l.names(name)
	for _, file := range files {
		if !strings.HasPrefix(file, string(release)+"-") {
			continue
		}
		n, readErr := l.head(filepath.Join(name, file))
		if err = errors.Join(err, readErr); readErr == nil && n.Release == release {
			heads = append(heads, n)
		}
	}
	return heads, err
}

// notes returns the notes of a manifest, of all with "", as read gives them. One that cannot
// be read is an error beside the others.
func (l *Ledger) notes(name string, read func(file string) (Note, error)) (notes []Note, err error) {
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
			n, readErr := read(filepath.Join(name, file))
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
	return n, n.isAt(f.Name(), file)
}

// isAt notes where a note lies.
func (n *Note) isAt(path, file string) error {
	if n.Manifest != filepath.Dir(file) {
		return fmt.Errorf("%s is the record of another manifest: move it away", path)
	}
	n.file = file
	return nil
}

// head reads a note up to its contents. A note of another form is read as a whole.
func (l *Ledger) head(file string) (n Note, err error) {
	f, err := l.root.OpenRegular(filepath.Join(dir, file))
	if err != nil {
		return n, err
	}
	defer f.Close()
	n, isHead := parseHead(io.LimitReader(f, maxHead))
	if isHead {
		return n, n.isAt(f.Name(), file)
	}
	n, err = l.read(file)
	n.Contents, n.Readers, n.Expected = nil, nil, nil
	return n, err
}

// parseHead is false for a text that does not begin as syncd writes it.
func parseHead(text io.Reader) (n Note, isHead bool) {
	decoder, members := json.NewDecoder(text), map[string]json.RawMessage{}
	if begin, err := decoder.Token(); err != nil || begin != json.Delim('{') {
		return n, false
	}
	for {
		key, err := decoder.Token()
		if key == "contents" {
			break
		}
		var value json.RawMessage
		name, isName := key.(string)
		if err != nil || !isName || decoder.Decode(&value) != nil {
			return n, false
		}
		members[name] = value
	}
	data, err := json.Marshal(members)
	if err == nil {
		err = json.Unmarshal(data, &n)
	}
	return n, err == nil && !n.BegunAt.IsZero()
}

// trim sweeps unfinished files, and removes the oldest notes above the limits. A note that
// is not over stays.
func (l *Ledger) trim(name string) error {
	folder := filepath.Join(dir, name)
	err := l.root.SweepTemps(folder)
	heads, _ := l.notes(name, l.head) // a damaged one stays
	slices.SortStableFunc(heads, func(a, b Note) int { return cmp.Compare(b.BegunAt.UnixNano(), a.BegunAt.UnixNano()) })
	var size int64
	for i, n := range heads {
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
