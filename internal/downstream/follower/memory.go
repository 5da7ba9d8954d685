package follower

import (
	"crypto/sha256"

	"syncd/internal/downstream/bucket"
	"syncd/internal/manifest"
	"syncd/internal/store"
)

// Memory keeps what was read last beyond the end of the process. Safe for concurrent use.
type Memory interface {
	Upstream() (store.Upstream, error)
	SetUpstream(store.Upstream) error
}

// Remember makes the client keep in memory what it reads from source, and begin with what is
// there. It comes before the first request. What cannot be kept is asked for again.
func (c *Client) Remember(memory Memory, source string) {
	c.memory, c.source = memory, source
	known, err := memory.Upstream()
	if err != nil || known.Source != source {
		return
	}
	current, err := bucket.ParseCurrent(known.Current)
	if err == nil && current.SHA256 == manifest.ObjectID(sha256.Sum256(known.Generation)) {
		c.recalled = recalled{Upstream: known, current: current}
		c.etag, c.isKnown = known.ETag, true
	}
}

// recalled is what an earlier process read. It is judged when the mirror says that it still
// counts.
type recalled struct {
	store.Upstream
	current bucket.Current
}

// IsKnown is true if the mirror was read by an earlier process.
func (c *Client) IsKnown() bool { return c.isKnown }

// note keeps what was read, the text of current.json and that of its generation.
func (c *Client) note(current []byte) {
	text := c.text
	c.recalled, c.text = recalled{}, nil
	if c.memory == nil {
		return
	}
	if text == nil { // only the statement about it is another one
		before, err := c.memory.Upstream()
		if err != nil || before.Source != c.source {
			return
		}
		text = before.Generation
	}
	_ = c.memory.SetUpstream(store.Upstream{Source: c.source, ETag: c.etag, Current: current, Generation: text})
}
