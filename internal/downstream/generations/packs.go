package generations

import (
	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/catalog"
	"syncd/internal/manifest"
	"syncd/internal/mirror/record"
)

// pack is a pack of a record: the places of its contents in the revision's files.
type pack struct {
	id     manifest.ObjectID
	places []int32
}

// packsIn are the packs of a record, nil if the revision lacks one of their contents.
func packsIn(revision *catalog.Revision, files []record.File) (packs []pack) {
	var places map[manifest.ObjectID]int32
	for _, p := range bucket.PacksOf(files) {
		if places == nil {
			places = placesIn(revision)
		}
		found := pack{id: p.ID, places: make([]int32, len(p.Contents))}
		for i, c := range p.Contents {
			place, isThere := places[c.ID]
			if !isThere {
				return nil
			}
			found.places[i] = place
		}
		packs = append(packs, found)
	}
	return packs
}

// placesIn finds the contents of packs in a revision.
func placesIn(revision *catalog.Revision) map[manifest.ObjectID]int32 {
	places := map[manifest.ObjectID]int32{}
	for i := range revision.Len() {
		if f := revision.At(i); f.Size() < bucket.PackedBelow {
			places[f.Object()] = int32(i) //nolint:gosec // at most record.MaxFiles
		}
	}
	return places
}

// Pack finds a pack among the records of the ring's generations, and the files with its
// contents.
func (g *Generations) Pack(name string, id manifest.ObjectID) (p bucket.Pack, files []catalog.File, found bool) {
	for _, e := range g.kept(name) {
		for _, r := range e.records {
			for _, known := range r.packs {
				if known.id == id && g.cfg.Catalog.Snapshot().Find(r.Revision.Key()) != nil {
					p, files = r.pack(known)
					return p, files, true
				}
			}
		}
	}
	return p, nil, false
}

func (r *Record) pack(known pack) (p bucket.Pack, files []catalog.File) {
	p.ID = known.id
	for _, place := range known.places {
		f := r.Revision.At(int(place))
		p.Contents, files = append(p.Contents, bucket.Content{ID: f.Object(), Size: f.Size()}), append(files, f)
	}
	return p, files
}

// givenPacksLocked are the packs of a record of the upstream that a revision of this host has.
func (g *Generations) givenPacksLocked(own *catalog.Revision, m bucket.Manifest) []pack {
	if m.Packs == 0 {
		return nil
	}
	key := held{own, m.RecordSHA256}
	known, found := g.packs[key]
	if !found {
		if read, err := g.readGiven(&Record{Sum: m.RecordSHA256, entry: m}); err == nil {
			known = packsIn(own, read.Files)
		}
		g.packs[key] = known
	}
	return known
}
