package gate

import (
	"context"
	"errors"
	"io/fs"
	"slices"

	"syncd/internal/manifest"
	"syncd/internal/manifest/refusal"
	"syncd/internal/mirror"
	"syncd/internal/store"
)

// Shown is an object that a gate can see, as its file was before.
type Shown struct {
	object manifest.ObjectID
	proof  store.Proof
}

// Show describes the objects of a record before a gate sees them.
func Show(m *mirror.Mirror, record mirror.Record) []Shown {
	all := make([]Shown, 0, len(record.Files))
	for _, f := range record.Files {
		if info, there := m.Objects.Info(f.Object); there {
			all = append(all, Shown{f.Object, store.ProofOf(info)})
		}
	}
	return all
}

// dropChanged refuses a revision of which the gate changed a file: its content is not
// proven any more, whatever the verdict. The damaged objects and the entry go, so the next
// sync downloads them again. A gate can write, because it runs as syncd's user.
func (j Judge) dropChanged(ctx context.Context, c Case) error {
	damaged := j.damaged(ctx, c.Objects)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if len(damaged) == 0 {
		return j.dropLost(ctx, c)
	}
	return j.Change(ctx, func() error {
		if j.Staging.Get(c.Staged.Manifest).ID() != c.Staged.ID() { // replaced meanwhile, and perhaps pruned
			return nil
		}
		record, err := j.Staging.Record(c.Staged)
		if err != nil {
			return err
		}
		for _, id := range damaged {
			if err := j.Mirror.Objects.RemoveUnused(id); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		if err := j.Staging.Remove(c.Staged.Manifest); err != nil {
			return err
		}
		i := slices.IndexFunc(record.Files, func(f mirror.File) bool { return f.Object == damaged[0] })
		return refusal.New(refusal.Gate, "the gate %s changed the content of %d files, such as %s: mend the gate, which must only read; "+
			"the next sync downloads them again, and `syncd verify --repair` mends served ones", c.Gate.Command[0], len(damaged), record.Files[i].Path)
	})
}

// dropLost refuses a revision whose folder the gate removed. Files that it removed or
// replaced there are made anew when the revision goes live.
func (j Judge) dropLost(ctx context.Context, c Case) error {
	return j.Change(ctx, func() error {
		if j.Staging.Get(c.Staged.Manifest).ID() != c.Staged.ID() { // replaced meanwhile, and perhaps pruned
			return nil
		}
		if _, err := j.Staging.Record(c.Staged); mirror.IsLost(err) { // the entry went with it
			return refusal.New(refusal.Gate, "the gate %s removed the folder of the revision, SYNCD_PATH: mend the gate, which must only read; the next sync makes it again", c.Gate.Command[0])
		}
		return nil
	})
}

// damaged returns the objects that have another content now. It reads those whose file has
// changed.
func (j Judge) damaged(ctx context.Context, before []Shown) (ids []manifest.ObjectID) {
	for _, was := range before {
		info, there := j.Mirror.Objects.Info(was.object)
		if there && store.ProofOf(info) == was.proof || slices.Contains(ids, was.object) {
			continue
		}
		if !j.Mirror.Objects.IsWhole(ctx, was.object) {
			ids = append(ids, was.object)
		}
	}
	return ids
}
