package audit

import "time"

// LeftAt returns when a tree of a manifest or view left `current` for the last time. It is
// not known of a tree that is served, or whose events are not kept any more.
func (l *Log) LeftAt(name, tree string) (at time.Time, known bool) {
	if l == nil {
		return at, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	isServed := false
	for _, e := range l.events {
		switch {
		case e.Name != name:
		case e.Tree == tree:
			isServed = true
		case isServed:
			at, isServed = e.At, false
		}
	}
	return at, !isServed && !at.IsZero()
}
