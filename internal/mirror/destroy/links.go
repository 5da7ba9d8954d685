package destroy

import (
	"os"

	"syncd/internal/manifest"
	"syncd/internal/mirror"
)

// Links are objects that are about to go, held open to see whether a name of them is left
// that syncd does not know: a hard link that somebody made elsewhere on the file system.
type Links map[string]*os.File // by SHA-256

// maxLinks is how many objects are held open.
const maxLinks = 500

// WatchLinks opens the objects of a note that nothing shares. The caller closes them.
func WatchLinks(m *mirror.Mirror, n Note) Links {
	watched := Links{}
	for _, c := range n.Contents {
		id, err := manifest.ParseObjectID(c.SHA256)
		if err != nil || len(c.SharedWith) > 0 || len(watched) == maxLinks {
			continue
		}
		if f, err := m.Objects.Open(id); err == nil {
			watched[c.SHA256] = f
		}
	}
	return watched
}

// Close closes the objects, which gives their space back.
func (w Links) Close() {
	for _, f := range w {
		f.Close()
	}
}

// Note returns the note with the names that are left of contents that are gone.
func (w Links) Note(n Note) Note {
	for i := range n.Contents {
		c := &n.Contents[i]
		if f := w[c.SHA256]; f != nil && len(c.SharedWith) == 0 {
			if c.Links, c.Inode = namesOf(f); c.Links == 0 {
				c.Inode = 0
			}
		}
	}
	return n
}
