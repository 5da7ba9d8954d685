package serve

import (
	"net/http"
	"os"

	"syncd/internal/downstream/catalog"
	"syncd/internal/downstream/pack"
	"syncd/internal/manifest"
)

// pack answers with small contents in one answer, and keeps their revision for the follower.
// It is made anew for each follower: its contents are small and mostly in the page cache.
func (c *call) pack(id manifest.ObjectID) {
	if !c.s.packs.begin(c.a.who) {
		c.a.Header().Set("Retry-After", "1")
		c.a.problem(http.StatusServiceUnavailable, typeProblem("tooManyRequests", "Too many packs are being made."))
		return
	}
	defer c.s.packs.end(c.a.who)
	p, files, found := c.s.cfg.Generations.Pack(c.asker.Ring(), id)
	if !found || !c.asked(files[0].Revision) {
		c.noText()
		return
	}
	c.private()
	c.a.Header().Set("Content-Type", "application/zstd")
	c.a.WriteHeader(http.StatusOK)
	if c.a.head {
		return
	}
	if err := pack.Write(c.a.ctx, c.a, p, c.inOrder(files)); err != nil {
		panic(http.ErrAbortHandler) // the client is gone, or a content: what was sent is no pack
	}
}

// inOrder opens files one after the other, as a pack has their contents.
func (c *call) inOrder(files []catalog.File) func(manifest.ObjectID) (*os.File, error) {
	return func(manifest.ObjectID) (*os.File, error) {
		next := files[0]
		files = files[1:]
		return c.s.cfg.Catalog.Open(next)
	}
}
