package transport

import "sync"

// maxOpen bounds the open connections of a client. A sync needs fewer at once, and a
// container often has 1,024 descriptors.
const maxOpen = 512

// openConnections are the connections of a client. net/http bounds only idle ones, and
// those of HTTP/1.1 only. A server would get any number if it redirects to ever more
// addresses, takes each connection out of use (GOAWAY), or drips on each. Safe for
// concurrent use.
type openConnections struct {
	mu     sync.Mutex
	all    map[*connection]struct{}
	closed bool
}

// add adds a connection. If there are too many, it closes the one that has moved no byte
// for the longest time. After close, it closes c.
func (o *openConnections) add(c *connection) {
	if silent := o.put(c); silent != nil {
		silent.Close()
	}
}

// put returns the connection to close, or nil.
func (o *openConnections) put(c *connection) (silent *connection) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return c
	}
	if len(o.all) >= maxOpen {
		for other := range o.all {
			if silent == nil || other.moved.Load() < silent.moved.Load() {
				silent = other
			}
		}
		delete(o.all, silent)
	}
	if o.all == nil {
		o.all = map[*connection]struct{}{}
	}
	o.all[c] = struct{}{}
	return silent
}

func (o *openConnections) remove(c *connection) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.all, c)
}

// close closes all connections, and those that come.
func (o *openConnections) close() {
	o.mu.Lock()
	all := o.all
	o.all, o.closed = nil, true
	o.mu.Unlock()
	for c := range all {
		c.Close()
	}
}
