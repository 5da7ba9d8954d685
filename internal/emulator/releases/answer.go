package releases

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"

	"syncd/internal/emulator/wire"
)

// reply sends a result.
func (c *call) reply(f wire.Format, body []byte) {
	wire.Write(c.w, http.StatusOK, f.ContentType(), body)
}

// replyIfChanged sends a list with an ETag, or 304 when If-None-Match names it.
func (c *call) replyIfChanged(items []string) {
	body := renderList(c.format, items)
	sum := sha256.Sum256(body)
	etag := fmt.Sprintf(`"%x"`, sum[:12])
	c.w.Header().Set("ETag", etag)
	if noneMatch(c.r.Header.Values("If-None-Match"), etag) {
		c.w.WriteHeader(http.StatusNotModified)
		return
	}
	c.reply(c.format, body)
}

// noneMatch returns whether If-None-Match names the ETag, by weak comparison.
func noneMatch(values []string, etag string) bool {
	for _, v := range values {
		for tag := range strings.SplitSeq(v, ",") {
			tag = strings.TrimSpace(tag)
			if tag == "*" || strings.TrimPrefix(tag, "W/") == etag {
				return true
			}
		}
	}
	return false
}

// notFound answers 404 in the shape that endpoints of manifests use.
func (c *call) notFound(problemType, noun string) {
	wire.Problem{Status: http.StatusNotFound, Type: problemType, Message: "There is no such " + noun + "."}.Write(c.w)
}

// noFile answers 404 in the shape that endpoints of files use.
func (c *call) noFile() {
	wire.Problem{
		Status: http.StatusNotFound, Shape: wire.ShapeTitle, Field: "filename",
		Message: "There is no such file in this release.",
	}.Write(c.w)
}

// unreadable answers a request for a content that cannot be read.
func (c *call) unreadable(err error) {
	if errors.Is(err, fs.ErrNotExist) {
		c.noFile() // it was removed after the look-up
		return
	}
	wire.Problem{Status: http.StatusInternalServerError, Type: "internalError", Message: err.Error()}.Write(c.w)
}
