package upload

import (
	"cmp"

	"syncd/internal/manifest"
	"syncd/internal/store"
)

// memory keeps which publisher this host is, and what it wrote to one place.
type memory struct {
	store store.Uploads
	place string
	rings []string // before the last one
}

// Publisher implements identity.Memory.
func (m memory) Publisher() (store.Publisher, error) {
	known, err := m.store.Publisher()
	written, writtenErr := m.store.Written(m.place)
	if written != nil { // nil in a state of before
		known.Written = written
	}
	known.Rings = map[string][]manifest.ObjectID{}
	for _, ring := range m.rings {
		of, ringErr := m.store.Written(m.placeOf(ring))
		known.Rings[ring], writtenErr = of, cmp.Or(writtenErr, ringErr)
	}
	return known, cmp.Or(err, writtenErr)
}

// SetPublisher implements identity.Memory.
func (m memory) SetPublisher(now store.Publisher) error {
	before, err := m.store.Publisher()
	if err == nil && (before.ID != now.ID || before.Home != now.Home) {
		err = m.store.SetPublisher(now)
	}
	for _, ring := range m.rings {
		if of := now.Rings[ring]; of != nil {
			err = cmp.Or(err, m.store.SetWritten(m.placeOf(ring), of))
		}
	}
	return cmp.Or(err, m.store.SetWritten(m.place, now.Written))
}

// placeOf is the place of a ring. An address has no space.
func (m memory) placeOf(ring string) string { return m.place + " " + ring }
