package relay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"syncd/internal/disk/durable"
	"syncd/internal/disk/fsops"
	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/trust"
	"syncd/internal/manifest"
)

const (
	dir     = "state/upstream"
	texts   = dir + "/texts.json"
	records = dir + "/records"
)

// maxKept is how many generations are kept: this host may hold an earlier one whole, and the
// newest only in part.
const maxKept = 8

// Text is a generation of the upstream with what named it.
type Text struct {
	Current    bucket.Current
	Generation bucket.Generation

	CurrentText []byte // of current.json
	Text        []byte // of the generation
}

// Folder is the texts on the disk of this host. Safe for concurrent use.
type Folder struct {
	root *fsops.Dir
	disk *durable.Disk

	mu   sync.Mutex // guards what follows, also while it is written
	kept []Text     // in the order in which they came
}

// saved is a Text on the disk.
type saved struct {
	Current    string `json:"current"`
	Generation string `json:"generation"`
}

// Open returns what was kept before in a data directory. What cannot be read counts as lost.
func Open(root *fsops.Dir, disk *durable.Disk) *Folder {
	f := &Folder{root: root, disk: disk}
	for _, name := range []string{dir, records} {
		_ = root.SweepTemps(name) // the next start tries again
	}
	data, _, err := root.ReadRegular(texts, 4*maxKept*bucket.MaxText)
	var all []saved
	if err != nil || json.Unmarshal(data, &all) != nil {
		return f
	}
	for _, s := range all {
		if t, err := parse([]byte(s.Current), []byte(s.Generation)); err == nil {
			f.kept = append(f.kept, t)
		}
	}
	return f
}

func parse(current, generation []byte) (t Text, err error) {
	t.CurrentText, t.Text = current, generation
	if t.Current, err = bucket.ParseCurrent(current); err == nil {
		t.Generation, err = bucket.ParseGeneration(t.Current.Generation, generation)
	}
	return t, err
}

// Texts returns what is kept, the newest first.
func (f *Folder) Texts() []Text {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := slices.Clone(f.kept)
	slices.Reverse(all)
	return all
}

// Keep keeps a believed generation. Without its text, that is known, and only what names it is
// another one.
func (f *Folder) Keep(current, generation []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	named, err := bucket.ParseCurrent(current)
	if err != nil {
		return err
	}
	isIt := func(t Text) bool { return t.Current.SHA256 == named.SHA256 && t.Current.Generation == named.Generation }
	at := slices.IndexFunc(f.kept, isIt)
	if at >= 0 {
		generation = f.kept[at].Text
		if at == len(f.kept)-1 && bytes.Equal(f.kept[at].CurrentText, current) {
			return nil
		}
	}
	if generation == nil {
		return nil // it was lost
	}
	t, err := parse(current, generation)
	if err != nil {
		return err
	}
	if f.isStaleLocked(t) {
		return nil
	}
	kept := append(slices.DeleteFunc(slices.Clone(f.kept), isIt), t)
	kept = kept[max(len(kept)-maxKept, 0):]
	if err := f.writeLocked(kept); err != nil {
		return fmt.Errorf("keep the texts of the upstream: %w", err)
	}
	f.kept = kept
	f.pruneLocked()
	return nil
}

// isStaleLocked is true for a generation of another count than the newest one, which was signed
// later: this host took that on another way, and those who follow it must not go back.
func (f *Folder) isStaleLocked(t Text) bool {
	if len(f.kept) == 0 || f.kept[len(f.kept)-1].Generation.Count == t.Generation.Count {
		return false
	}
	newest, newestErr := trust.ParseStatement([]byte(f.kept[len(f.kept)-1].Current.Statement))
	s, err := trust.ParseStatement([]byte(t.Current.Statement))
	return newestErr == nil && err == nil && s.Issued.Before(newest.Issued)
}

func (f *Folder) writeLocked(kept []Text) error {
	if err := f.root.EnsureDir(dir, 0o700); err != nil {
		return err
	}
	all := []saved{}
	for _, t := range kept {
		all = append(all, saved{string(t.CurrentText), string(t.Text)})
	}
	return f.disk.ReplaceFile(f.root, texts, 0o600, func(w io.Writer) error { return json.NewEncoder(w).Encode(all) })
}

// pruneLocked removes the records that no kept generation names, and those of revisions that
// the publisher destroyed since.
func (f *Folder) pruneLocked() {
	named := map[string]bool{}
	newest := f.kept[len(f.kept)-1].Generation
	for _, t := range f.kept {
		for _, m := range t.Generation.Manifests {
			named[m.RecordSHA256.String()] = named[m.RecordSHA256.String()] || !newest.IsDestroyed(m)
		}
	}
	names, _ := f.root.Names(records) // none if it cannot be read
	for _, name := range names {
		if !named[name] {
			_ = f.root.Remove(filepath.Join(records, name)) // the next one tries again
		}
	}
}

// Lacks is true if the text of a record is not kept.
func (f *Folder) Lacks(m bucket.Manifest) bool {
	info, err := f.root.Info(path(m.RecordSHA256))
	return err != nil || !info.IsRegular()
}

// Record opens the text of a record.
func (f *Folder) Record(sum manifest.ObjectID) (*os.File, error) { return Record(f.root, sum) }

// Record is Folder.Record for a data directory in which another process may write.
func Record(root *fsops.Dir, sum manifest.ObjectID) (*os.File, error) {
	return root.OpenRegular(path(sum))
}

func path(sum manifest.ObjectID) string { return filepath.Join(records, sum.String()) }

// KeepRecord keeps the text of a record that get writes. It keeps nothing if that fails.
func (f *Folder) KeepRecord(m bucket.Manifest, get func(to io.Writer) error) error {
	for _, name := range []string{dir, records} {
		if err := f.root.EnsureDir(name, 0o700); err != nil {
			return err
		}
	}
	return f.disk.ReplaceFile(f.root, path(m.RecordSHA256), 0o600, get)
}
