package serve

import (
	"context"
	"maps"
	"weak"

	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/generations"
	"syncd/internal/httpserver/accounts"
	"syncd/internal/manifest"
)

// patchLists makes the lists of patches, one at a time: a list of a record with very many files
// takes much memory while it is made. Followers take turns, so that none waits for the crowd of another
// one. The clients that read a list at the same time share its text, however slowly they read.
// Safe for concurrent use.
type patchLists struct {
	turns *accounts.Turns // guards what follows
	count int             // of the patches that there were
	bytes int64
	texts map[manifest.ObjectID]weak.Pointer[patchText] // by the sum of the record
}

type patchText struct{ bytes []byte }

// of returns the list of a record, nil for none. The caller keeps it alive while it is written.
func (l *patchLists) of(ctx context.Context, who accounts.Identity, r *generations.Record, cfg Config) (*patchText, error) {
	end, err := l.turns.Take(ctx, who)
	if err != nil {
		return nil, err
	}
	defer end()
	if count, bytes := cfg.Patches.Kept(); count != l.count || bytes != l.bytes || l.texts == nil {
		l.count, l.bytes, l.texts = count, bytes, map[manifest.ObjectID]weak.Pointer[patchText]{}
	}
	if known := l.texts[r.Sum].Value(); known != nil {
		return known, nil
	}
	read, err := cfg.Generations.Read(r)
	if err != nil {
		return nil, err
	}
	patches := cfg.Patches.List(*read)
	if len(patches) == 0 {
		return nil, nil //nolint:nilnil // no list is no error
	}
	sizes := make(map[manifest.ObjectID]int64, len(patches))
	for _, p := range patches {
		sizes[p.New] = 0
	}
	for _, f := range read.Files {
		if _, isNamed := sizes[f.Object]; isNamed {
			sizes[f.Object] = f.Size
		}
	}
	made := &patchText{bucket.NewPatchList(patches, func(id manifest.ObjectID) int64 { return sizes[id] }).Text()}
	maps.DeleteFunc(l.texts, func(_ manifest.ObjectID, text weak.Pointer[patchText]) bool { return text.Value() == nil })
	l.texts[r.Sum] = weak.Make(made)
	return made, nil
}
