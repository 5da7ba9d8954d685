package syncer

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

// shown is an object that a gate can see, as its file was before.
type shown struct {
	object manifest.ObjectID
	proof  store.Proof
}

// show describes the objects of a record before a gate sees them.
func (c *Config) show(record mirror.Record) []shown {
	all := make([]shown, 0, len(record.Files))
	for _, f := range record.Files {
		if info, there := c.Mirror.ObjectInfo(f.Object); there {
			all = append(all, shown{f.Object, store.ProofOf(info)})
		}
	}
	return all
}

// dropChanged refuses a revision of which the gate changed a file: its content is not
// proven any more, whatever the verdict. The damaged objects and the entry go, so the next
// sync downloads them again. A gate can write, because it runs as syncd's user.
func (c *Config) dropChanged(ctx context.Context, t Target, p prepared) error {
	damaged := c.damaged(ctx, p.objects)
	if len(damaged) == 0 || ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return c.Shared.change(ctx, func() error {
		if c.Staging.Get(t.Name).ID() != p.entry.ID() { // replaced meanwhile, and perhaps pruned
			return nil
		}
		record, err := c.Staging.Record(p.entry)
		if err != nil {
			return err
		}
		for _, id := range damaged {
			if err := c.Mirror.RemoveUnused(id); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		if err := c.Staging.Remove(t.Name); err != nil {
			return err
		}
		i := slices.IndexFunc(record.Files, func(f mirror.File) bool { return f.Object == damaged[0] })
		return refusal.New(refusal.Gate, "the gate %s changed the content of %d files, such as %s: mend the gate, which must only read; "+
			"the next sync downloads them again, and `syncd verify --repair` mends served ones", t.Gate.Command[0], len(damaged), record.Files[i].Path)
	})
}

// damaged returns the objects that have another content now. It reads those whose file has
// changed.
func (c *Config) damaged(ctx context.Context, before []shown) (ids []manifest.ObjectID) {
	for _, was := range before {
		info, there := c.Mirror.ObjectInfo(was.object)
		if there && store.ProofOf(info) == was.proof || slices.Contains(ids, was.object) {
			continue
		}
		if !c.Mirror.ObjectIsWhole(ctx, was.object) {
			ids = append(ids, was.object)
		}
	}
	return ids
}
