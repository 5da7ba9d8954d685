package publisher

import (
	"context"
	"crypto/rand"

	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/objectstore"
	"syncd/internal/downstream/publisher/texts"
)

// Seen is what Look finds at a place.
type Seen struct {
	Current       bucket.Current // the zero value if nothing is published there
	Lease         bucket.Lease   // the zero value if no publisher has had it
	HasConditions bool           // the server keeps to conditions of writes
	KeepsVersions bool           // the bucket keeps what is deleted
}

// Look finds out whether a publisher could work at a place. It writes an object of its own,
// as the publisher does before its first write, and removes it.
func Look(ctx context.Context, place objectstore.Place) (seen Seen, err error) {
	ctx, end := objectstore.Within(ctx, "looking at the bucket", limitsOfLook)
	defer end()
	s, err := texts.Connect(place, func() error { return nil }, new(objectstore.Server))
	if err != nil {
		return seen, err
	}
	if seen.Current, err = texts.LookAt(ctx, s, bucket.CurrentName, bucket.ParseCurrent); err != nil {
		return seen, err
	}
	if seen.Lease, err = texts.LookAt(ctx, s, bucket.LeaseName, bucket.ParseLease); err != nil {
		return seen, err
	}
	if seen.HasConditions, err = s.KnowsConditions(ctx, bucket.ProbeName(rand.Text())); err != nil {
		return seen, err
	}
	seen.KeepsVersions = s.KeepsVersions(ctx)
	return seen, s.Remove(ctx, bucket.ProbeName(rand.Text())) // there is none: this shows whether it may
}
