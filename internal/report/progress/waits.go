package progress

import (
	"slices"
	"time"
)

// Wait is one wait for the provider: for the answer to a small question, whose bytes do
// not show before its end, or for the bytes of a download.
type Wait struct {
	Manifest string
	Asking   bool
	Since    time.Time // when the provider was last heard of
}

// Ask notes that the sync of a manifest waits for the answer to a small question, until
// answered is called.
func (t *Tracker) Ask(manifest string) (answered func()) {
	w := &Wait{Manifest: manifest, Asking: true, Since: time.Now()}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.questions = append(t.questions, w)
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.questions = slices.DeleteFunc(t.questions, func(other *Wait) bool { return other == w })
	}
}

// Waits returns every wait for the provider.
func (t *Tracker) Waits() []Wait {
	t.mu.Lock()
	defer t.mu.Unlock()
	var waits []Wait
	for _, w := range t.questions {
		waits = append(waits, *w)
	}
	for _, d := range t.downloads {
		if !d.moved.IsZero() {
			waits = append(waits, Wait{Manifest: d.file.Manifest, Since: d.moved})
		}
	}
	return waits
}
