package report

import "time"

// Ask notes that a sync waits for the answer to a small question, until answered is
// called.
func (p *Progress) Ask() (answered func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.beginWaitLocked()
	p.asking++
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.asking--
		p.moved = time.Now()
	}
}

// Moved notes that the provider answered, or that a request ended in another way and is
// repeated.
func (p *Progress) Moved() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.moved = time.Now()
}

// beginWaitLocked starts the silence anew when nothing was waited for.
func (p *Progress) beginWaitLocked() {
	if p.asking == 0 && len(p.downloads) == 0 {
		p.moved = time.Now()
	}
}

// SilentSince returns when the provider was last heard of, while a sync waits for it;
// the zero time while none does. With asking, a sync waits for the answer to a small
// question, whose bytes do not show before its end.
func (p *Progress) SilentSince() (since time.Time, asking bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.asking == 0 && len(p.downloads) == 0 {
		return time.Time{}, false
	}
	return p.moved, p.asking > 0
}
