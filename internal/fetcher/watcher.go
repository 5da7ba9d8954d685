package fetcher

import "sync"

// Watcher follows the download of one file. Its methods are called one at a time.
// While one runs, the connections of that file wait, but no others.
type Watcher interface {
	// Announced reports the size of the file, in bytes, from a response that says it.
	// An error ends the fetch.
	Announced(size int64) error
	// Moved reports that some bytes arrived, and how many of the file are present now.
	// With 0 bytes, it reports that a request is about to be sent or has ended. An error
	// ends the fetch.
	Moved(bytes, done int64) error
	// Received reports that all bytes are present. Their proof follows, which does not
	// wait for the Source.
	Received()
	// Resumed reports how many bytes are not requested again, each time that a
	// download continues.
	Resumed(bytes int64)
	// Mismatch reports that a complete file does not have the expected digest.
	Mismatch(err error)
}

// notifier calls a Watcher for the connections of one download.
type notifier struct {
	watch   Watcher
	partial *partial

	mu sync.Mutex // makes calls one at a time; taken before partial.mu
}

// arrived reports n more bytes. It reads the total under mu, so that the totals
// which the Watcher sees never fall.
func (n *notifier) arrived(bytes int) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.watch.Moved(int64(bytes), n.partial.size())
}

// started reports how many bytes a download starts with, and the size if it is known.
func (n *notifier) started() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	size, total := n.partial.progress()
	if size > 0 {
		n.watch.Resumed(size)
	}
	if total != endless {
		if err := n.watch.Announced(total); err != nil {
			return err
		}
	}
	return n.watch.Moved(0, size)
}

func (n *notifier) received() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.watch.Received()
}

func (n *notifier) resumedWhole(size int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.watch.Resumed(size)
}

func (n *notifier) mismatch(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.watch.Mismatch(err)
}
