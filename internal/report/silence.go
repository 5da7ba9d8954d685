package report

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
func (p *Progress) Ask(manifest string) (answered func()) {
	w := &Wait{Manifest: manifest, Asking: true, Since: time.Now()}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.questions = append(p.questions, w)
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.questions = slices.DeleteFunc(p.questions, func(other *Wait) bool { return other == w })
	}
}

// Waits returns every wait for the provider.
func (p *Progress) Waits() []Wait {
	p.mu.Lock()
	defer p.mu.Unlock()
	var waits []Wait
	for _, w := range p.questions {
		waits = append(waits, *w)
	}
	for _, d := range p.downloads {
		if !d.moved.IsZero() {
			waits = append(waits, Wait{Manifest: d.file.Manifest, Since: d.moved})
		}
	}
	return waits
}
