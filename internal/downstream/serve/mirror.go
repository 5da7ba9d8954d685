package serve

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/generations"
	"syncd/internal/manifest"
)

// mirror answers GET /-/mirror/…: the texts and the contents of package bucket, as the
// follower's ring sees them. All names are matched with case.
func (c *call) mirror() {
	isText := !slices.ContainsFunc(c.args, func(s string) bool { return strings.Contains(s, "/") })
	if c.s.cfg.Generations == nil || len(c.args) < 2 || c.args[0] != "mirror" || !isText {
		c.a.reply(http.StatusNotFound, "", nil)
		return
	}
	name := strings.Join(c.args[1:], "/")
	number, isGeneration := bucket.ParseGenerationName(name)
	object, isObject := bucket.ParseObjectName(name)
	pack, isPack := bucket.ParsePackName(name)
	version, isTrust := bucket.ParseTrustName(name)
	before, after, isPatch := bucket.ParsePatchName(name)
	listed, isPatchList := bucket.PatchListRecord(name)
	switch {
	case name == bucket.CurrentName:
		c.current()
	case isGeneration:
		c.generation(number)
	case bucket.IsRecordName(name):
		c.record(name)
	case isObject:
		c.object(object)
	case isPack:
		c.pack(pack)
	case isTrust:
		c.trust(version)
	case isPatch && c.s.cfg.Patches != nil:
		c.patch(before, after)
	case isPatchList && c.s.cfg.Patches != nil:
		c.patchList(listed)
	default:
		c.noText()
	}
}

// noText answers 404: there is no such name, or what it named was replaced.
func (c *call) noText() {
	c.private()
	c.a.notFound("invalidName", "text or content in what your ring sees")
}

// current answers a poll. It is about the manifests that the follower tells of, or about all.
func (c *call) current() {
	names := c.asker.Told()
	if len(names) == 0 {
		names = c.snapshot.Manifests(nil)
	}
	c.asker.Polls(names...)
	c.private()
	text, etag, err := c.s.cfg.Generations.Current(c.asker.Ring())
	switch {
	case errors.Is(err, generations.ErrNone):
		c.noText()
		return
	case err != nil:
		c.a.Header().Set("Retry-After", "10")
		c.a.problem(http.StatusServiceUnavailable, typeProblem("notComposed", "What this host serves cannot be told at the moment."))
		return
	}
	c.text(jsonType, etag, int64(len(text)), inMemory(text))
}

func (c *call) generation(number int) {
	e, found := c.s.cfg.Generations.Text(c.asker.Ring(), number)
	if !found {
		c.noText()
		return
	}
	c.text(jsonType, etagOf(e.Sum), int64(len(e.Text)), inMemory(e.Text))
}

// record answers with the text of a record, and keeps its revision for the follower.
func (c *call) record(name string) {
	r, found := c.s.cfg.Generations.Record(c.asker.Ring(), name)
	if !found || !c.asked(r.Revision) {
		c.noText()
		return
	}
	c.private()
	if c.isUnchanged(etagOf(r.Sum)) {
		return
	}
	write, err := c.s.cfg.Generations.Writer(r)
	if err != nil { // pruned a moment ago
		c.a.Header().Del("ETag")
		c.noText()
		return
	}
	c.text(jsonType, etagOf(r.Sum), r.Size, write)
}

// object answers with a content, and keeps a revision that has it for the follower.
func (c *call) object(id manifest.ObjectID) {
	f, found := c.s.cfg.Generations.Object(c.asker.Ring(), id)
	if !found || !c.asked(f.Revision) {
		c.noText()
		return
	}
	c.send(f, c.noText)
}

// patch answers with a patch to a content that the follower could have as a whole, and keeps a
// revision that has the content for the follower.
func (c *call) patch(before, after manifest.ObjectID) {
	f, found := c.s.cfg.Generations.Object(c.asker.Ring(), after)
	if !found || !c.asked(f.Revision) {
		c.noText()
		return
	}
	c.private() // it may be made again, in other bytes
	patch, size, err := c.s.cfg.Patches.Open(before, after)
	c.sendFile(patch, err, fmt.Sprintf(`"%s-%x"`, after, size), c.noText)
}

// patchList answers with the list of the patches to the contents of a record, 404 for none.
func (c *call) patchList(record string) {
	r, found := c.s.cfg.Generations.Record(c.asker.Ring(), record)
	if count, _ := c.s.cfg.Patches.Kept(); !found || count == 0 || !c.asked(r.Revision) {
		c.noText()
		return
	}
	text, err := c.s.lists.of(c.a.ctx, c.a.who, r, c.s.cfg)
	if err != nil || text == nil { // pruned a moment ago, or none
		c.noText()
		return
	}
	c.text(jsonType, etagOf(sha256.Sum256(text.bytes)), int64(len(text.bytes)), func(w io.Writer) error {
		defer runtime.KeepAlive(text)
		return inMemory(text.bytes)(w)
	})
}

func (c *call) trust(version int) {
	text, found := c.s.cfg.Generations.Trust(version)
	if !found {
		c.noText()
		return
	}
	c.text(textType, etagOf(sha256.Sum256(text)), int64(len(text)), inMemory(text))
}

// etagOf is the ETag of what has a SHA-256.
func etagOf(sum manifest.ObjectID) string { return `"` + sum.String() + `"` }

// inMemory writes a text that is in memory.
func inMemory(text []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	}
}

// text sends a text, or 304 when If-None-Match names its ETag. Its first part waits for no
// bandwidth.
func (c *call) text(contentType, etag string, size int64, write func(io.Writer) error) {
	c.private()
	if c.isUnchanged(etag) {
		return
	}
	c.a.asList()
	h := c.a.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.FormatInt(size, 10))
	c.a.WriteHeader(http.StatusOK)
	if !c.a.head {
		_ = write(c.a) // it fails when the client is gone
	}
}
