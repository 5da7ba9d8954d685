package destroy

import (
	"slices"

	"syncd/internal/manifest"
	"syncd/internal/manifest/destruction"
	"syncd/internal/mirror"
)

// Obeys is true for a revision that the order of an upstream may reach: one that this host
// took from it. What came from another upstream or from a folder is not the upstream's.
func Obeys(told destruction.Told, r mirror.Record) bool {
	return told.Source != "" && r.Source == told.Source && !r.Adopted
}

// Ordered returns the revisions of a manifest that its upstream has destroyed itself and that
// are on disk here. It leaves out what the served generation shows: that is destroyed when it
// has left. The order may be hostile: it reaches no other manifest, and names on disk decide
// how much is looked at, whatever its length.
func Ordered(m *mirror.Mirror, name string, told destruction.Told) (orders []Order) {
	for _, id := range m.Records.RevisionIDs(name) {
		o, isRevision := parseID(name, id)
		if !isRevision || !told.Names(o.Release, o.Revision) || CheckServed(m.Current(), o) != nil {
			continue
		}
		r, err := m.Records.Revision(name, id)
		if err != nil {
			r, err = m.Records.Staged(name, id)
		}
		if err == nil && Obeys(told, r) {
			orders = append(orders, o)
		}
	}
	return orders
}

// parseID reads the name of a revision's directory.
func parseID(name, id string) (o Order, isRevision bool) {
	const revision = 12
	at := len(id) - revision - 1
	if at < 1 || id[at] != '-' {
		return o, false
	}
	return Order{Manifest: name, Release: manifest.Release(id[:at]), Revision: id[at+1:], Cause: Publisher}, true
}

// GoneOf is what this host tells its followers about destroyed revisions of a manifest. onDisk
// are the IDs of those that it has: one that came back is not gone. If no revision of a
// release is left, all of the release is gone, so that a follower with other filters knows
// that, too.
func GoneOf(done []Destruction, onDisk []string) []destruction.Gone {
	has := map[manifest.Release]bool{}
	for _, id := range onDisk {
		if o, isRevision := parseID("", id); isRevision {
			has[o.Release] = true
		}
	}
	var gone []destruction.Gone
	for _, d := range done {
		g := destruction.Gone{Release: d.Release, Revision: d.Revision, At: d.At}
		switch {
		case d.Revision == "" || slices.Contains(onDisk, Order{Release: d.Release, Revision: d.Revision}.ID()):
			continue // followers never saw the fragments of a release
		case !has[d.Release]:
			g.Revision = ""
		}
		gone = append(gone, g)
	}
	slices.SortStableFunc(gone, func(a, b destruction.Gone) int { return b.At.Compare(a.At) })
	return destruction.Merge(gone, nil, func(destruction.Gone) bool { return false })
}
