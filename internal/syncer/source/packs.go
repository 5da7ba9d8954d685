package source

import (
	"sync"

	"syncd/internal/downstream/bucket"
	"syncd/internal/fetcher"
	"syncd/internal/manifest"
	"syncd/internal/mirror/record"
)

// packs are those of the records whose contents this sync may download. Safe for concurrent
// use.
type packs struct {
	mu  sync.Mutex
	all []bucket.Pack
}

// add takes the packs of a record, if the mirror has all of them.
func (p *packs) add(m bucket.Manifest, files []record.File) {
	if m.Packs == 0 {
		return
	}
	all := bucket.PacksOf(files)
	if len(all) != m.Packs {
		return // those of another version of syncd
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = append(p.all, all...)
}

// Packs returns the packs of which at least half of the bytes are missing here. Others cost
// more than their contents one by one.
func (s *Source) Packs(missing []*manifest.File) (chosen []fetcher.Pack) {
	s.packs.mu.Lock()
	defer s.packs.mu.Unlock()
	if len(s.packs.all) == 0 {
		return nil
	}
	wanted := make(map[manifest.Digest]bool, len(missing))
	for _, f := range missing {
		wanted[f.Expected] = true
	}
	for _, p := range s.packs.all {
		useful, contents := int64(0), make([]manifest.Object, len(p.Contents))
		for i, c := range p.Contents {
			contents[i] = manifest.Object{ID: c.ID, Size: c.Size}
			if wanted[c.ID.Digest()] {
				useful += c.Size
			}
		}
		if 2*useful >= p.Size() {
			chosen = append(chosen, fetcher.Pack{ID: p.ID, Contents: contents})
		}
	}
	return chosen
}
