package publisher

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/publisher/texts"
	"syncd/internal/manifest/destruction"
	"syncd/internal/mirror"
)

// next is the generation to publish.
type next struct {
	manifests []bucket.Manifest
	own       []mirror.Record // of manifests that come from this host
	kept      []string        // manifests that another publisher has newer
	borrowed  bool            // something is there on another publisher's word
	replaces  string          // the publisher whose generation stands there; "" for this host and none

	destruction map[string]destruction.Order
}

// compose makes the next generation of what is served here. Where another publisher wrote
// the present one, it may be ahead: this host replaces nothing newer, and drops nothing
// that it is configured to mirror, too. A forced generation shows what is served here alone.
func (l *line) compose(served mirror.Generation, at texts.State, force bool) (n next, err error) {
	present, isAuthor := at.Present, force || l.identity.Wrote(at.SHA256)
	isOwn := func(m bucket.Manifest) bool {
		return isAuthor && m.Publisher == "" || force || m.Publisher == l.identity.Name()
	}
	if !l.identity.Wrote(at.SHA256) && present.Publisher != l.identity.Name() {
		n.replaces = present.Publisher
	}
	keep := func(m bucket.Manifest) {
		m.Publisher = cmp.Or(m.Publisher, present.Publisher)
		n.manifests, n.kept, n.borrowed = append(n.manifests, m), append(n.kept, m.Name), true
	}
	for _, name := range served.Names() {
		record := served.Records[name]
		own, err := manifestIn(present, record)
		if err != nil {
			return n, err
		}
		theirs, there := present.Manifest(name)
		if there && isOwn(theirs) {
			own.Held = own.Held || force && theirs.Release.Newer(own.Release) || isTakenBack(own, theirs, present)
		}
		if there && !isOwn(theirs) && isAhead(theirs, own) && !isOrdered(record, theirs) {
			keep(theirs)
			continue
		}
		n.manifests, n.own = append(n.manifests, own), append(n.own, record)
	}
	for _, theirs := range present.Manifests {
		if _, isServed := served.Records[theirs.Name]; !isServed && !isOwn(theirs) && l.cfg.Configured(theirs.Name) {
			keep(theirs)
		}
	}
	slices.SortFunc(n.manifests, func(a, b bucket.Manifest) int { return cmp.Compare(a.Name, b.Name) })
	n.destruction = map[string]destruction.Order{}
	for _, m := range n.manifests {
		theirs := present.Destruction[m.Name]
		if isAuthor && theirs.Publisher == "" || force || theirs.Publisher == l.identity.Name() {
			theirs.Seconds = 0 // it was this host's
		}
		theirs.Publisher = cmp.Or(theirs.Publisher, present.Publisher)
		order := l.cfg.orderFor(m, theirs)
		if !order.IsZero() {
			n.destruction[m.Name] = order
		}
		n.borrowed = n.borrowed || !isAuthor && !order.Equal(l.cfg.orderFor(m, destruction.Order{}))
	}
	return n, nil
}

// orderFor is what followers must destroy of a manifest: after the shortest time of all
// publishers, and what one of them destroyed.
func (c *Config) orderFor(m bucket.Manifest, theirs destruction.Order) destruction.Order {
	own := c.orderOf(m.Name)
	if theirs.Seconds > 0 && (own.Seconds == 0 || theirs.Seconds < own.Seconds) {
		own.Seconds, own.Publisher = theirs.Seconds, theirs.Publisher
	}
	own.Gone = destruction.Merge(own.Gone, theirs.Gone, func(g destruction.Gone) bool { return g.Is(m.Release, m.Revision) })
	return own
}

// orderOf is what this host says about a manifest.
func (c *Config) orderOf(name string) (order destruction.Order) {
	if c.Order != nil {
		order = c.Order(name)
	}
	return order
}

// isAhead is true when another publisher has something newer than this host.
func isAhead(theirs, own bucket.Manifest) bool {
	switch {
	case theirs.Release.Newer(own.Release):
		return true
	case own.Release.Newer(theirs.Release), own.Revision == theirs.Revision && own.Release == theirs.Release:
		return false
	}
	return theirs.MirroredAt.After(own.MirroredAt)
}

// isTakenBack is true for an older release that the author's operator forced, until another
// one is published. Followers that know no epochs go back to it only because it is held.
func isTakenBack(own, theirs bucket.Manifest, present bucket.Generation) bool {
	return present.Epoch > 0 && theirs.Held && theirs.Record() == own.Record()
}

// isOrdered is true when an operator wants the older revision that this host serves.
func isOrdered(own mirror.Record, theirs bucket.Manifest) bool {
	return own.Orders.Pin != "" || own.Held != nil && own.Held.Release == theirs.Release
}

// manifestIn is the manifest in the generation after present. Where another publisher's
// record of the same revision says as much, that one stays.
func manifestIn(present bucket.Generation, r mirror.Record) (bucket.Manifest, error) {
	own := bucket.EntryOf(r)
	own.Packs = len(bucket.PacksOf(r.Files))
	theirs, there := present.Manifest(r.Manifest)
	if there && theirs.Record() == own.Record() && !theirs.RecordSHA256.IsZero() && (theirs.Described || !own.Described) {
		own.Described, own.RecordSHA256 = theirs.Described, theirs.RecordSHA256
		return own, nil
	}
	return withRecord(own, r)
}

// withRecord is a manifest with this host's own record.
func withRecord(m bucket.Manifest, r mirror.Record) (bucket.Manifest, error) {
	text, err := bucket.TextOf(r)
	m.Described, m.RecordSHA256 = r.Described, text.Sum
	return m, err
}

// wishOf identifies what this host would publish.
func (c *Config) wishOf(served mirror.Generation) string {
	type wish struct {
		Entry      bucket.Manifest
		Held, Pins any
		Order      destruction.Order
	}
	var all []wish
	for _, name := range served.Names() {
		r := served.Records[name]
		all = append(all, wish{bucket.EntryOf(r), r.Held, r.Orders.Pin, c.orderOf(name)})
	}
	text, _ := json.Marshal(all) // plain values
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
