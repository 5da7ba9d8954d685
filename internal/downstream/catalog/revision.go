package catalog

import (
	"iter"
	"slices"
	"strings"
	"time"

	"syncd/internal/downstream/rings"
	"syncd/internal/manifest"
	"syncd/internal/mirror"
)

// Revision is one revision of a manifest. Its fields do not change.
type Revision struct {
	Manifest    string
	Release     manifest.Release // a month, or the alias by which it is mirrored
	ID          string           // release and revision
	Description string           // by the provider, "" if it gave none
	LiveAt      time.Time        // when it first went live here
	PublishedAt time.Time        // when it last came into service

	aliases   []manifest.Release // for which the provider had the same list
	isChosen  bool               // single files, and no manifest of the provider
	isLeft    bool               // the operator went back from it
	described bool
	files     []*mirror.File // in the provider's order
	of        *mirror.File   // the first file of the served record that has the files, nil for an earlier revision
	ask       *ask
}

// with returns r with another past, r itself if it has that already.
func (r *Revision) with(liveAt time.Time, isLeft bool) *Revision {
	if r.LiveAt.Equal(liveAt) && r.isLeft == isLeft {
		return r
	}
	next := r.clone()
	next.LiveAt, next.isLeft = liveAt, isLeft
	return next
}

func (r *Revision) clone() *Revision {
	next := *r
	return &next
}

// Key names the revision in Kept and Retire.
func (r *Revision) Key() string { return Key(r.Manifest, r.ID) }

// Content identifies the content among those of the release.
func (r *Revision) Content() string { return strings.TrimPrefix(r.ID, string(r.Release)+"-") }

// InRings is the revision as a fleet judges it.
func (r *Revision) InRings() rings.Served {
	return rings.Served{Version: rings.Version{Release: r.Release, Revision: r.Content()}, LiveAt: r.LiveAt}
}

// Len returns the number of files.
func (r *Revision) Len() int { return len(r.files) }

// Files returns the files in the provider's order.
func (r *Revision) Files() iter.Seq[File] {
	return func(yield func(File) bool) {
		for _, f := range r.files {
			if !yield(File{r, f}) {
				return
			}
		}
	}
}

// At returns the file at a place of Files.
func (r *Revision) At(place int) File { return File{r, r.files[place]} }

// holds is true if the provider resolved an alias to this revision's release.
func (r *Revision) holds(alias manifest.Release) bool { return slices.Contains(r.aliases, alias) }
