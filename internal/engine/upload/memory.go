package upload

import (
	"cmp"

	"syncd/internal/store"
)

// memory keeps which publisher this host is, and what it wrote to one place.
type memory struct {
	store store.Uploads
	place string
}

// Publisher implements identity.Memory.
func (m memory) Publisher() (store.Publisher, error) {
	known, err := m.store.Publisher()
	written, writtenErr := m.store.Written(m.place)
	if written != nil { // nil in a state of before
		known.Written = written
	}
	return known, cmp.Or(err, writtenErr)
}

// SetPublisher implements identity.Memory.
func (m memory) SetPublisher(now store.Publisher) error {
	before, err := m.store.Publisher()
	if err == nil && (before.ID != now.ID || before.Home != now.Home) {
		err = m.store.SetPublisher(now)
	}
	return cmp.Or(err, m.store.SetWritten(m.place, now.Written))
}
