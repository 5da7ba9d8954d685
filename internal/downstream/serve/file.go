package serve

import (
	"encoding/xml"
	"errors"
	"io/fs"
	"mime"
	"net/http"
	"os"
	"strings"

	"syncd/internal/downstream/catalog"
	"syncd/internal/manifest"
)

// file finds the file that the path and the tag name. It answers 404 when there is none.
func (c *call) file() (f catalog.File, ok bool) {
	parts, ok := reference(c.args, true)
	if !ok {
		c.a.noFile()
		return f, false
	}
	parts.Tag = parameter(c.r.URL.RawQuery, "tag")
	f, ok = c.snapshot.File(parts.Reference(), c.sees())
	if !ok || !c.asked(f.Revision) {
		c.a.noFile()
		return f, false
	}
	if !parts.Release.IsMonth() || c.snapshot.Differs(f) { // the answer differs between rings and with time
		c.private()
	}
	return f, true
}

// hash answers GET /{hashtype}/{class}/….
func (c *call) hash(algorithm manifest.Algorithm) {
	f, ok := c.file()
	if !ok {
		return
	}
	digest, known := f.Digest(algorithm)
	if !known {
		c.a.noFile()
		return
	}
	c.a.reply(http.StatusOK, c.format.contentType, c.format.text(digest.Hex()))
}

// metadata answers GET /Metadata/{class}/…: in XML when that is asked for, else in JSON.
func (c *call) metadata() {
	f, ok := c.file()
	if !ok {
		return
	}
	b := make([]byte, 0, 512)
	if c.format != formatXML {
		c.a.reply(http.StatusOK, jsonType, appendMembers(b, f.Metadata()))
		return
	}
	b = append(b, xml.Header+"<Metadata>"...)
	for _, m := range f.Metadata() {
		if isElementName(m.Name) {
			b = appendElement(b, m.Name, m.Value)
		}
	}
	c.a.reply(http.StatusOK, xmlType, append(b, "</Metadata>"...))
}

// appendMembers appends a JSON object whose values are strings.
func appendMembers(b []byte, members []manifest.Member) []byte {
	b = append(b, '{')
	for i, m := range members {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendJSON(b, m.Name), ':')
		b = appendJSON(b, m.Value)
	}
	return append(b, '}')
}

// isElementName is false for members that would break the XML around them.
func isElementName(name string) bool {
	for i, r := range name {
		isLetter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || r == '_'
		if !isLetter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return name != ""
}

// maxRanges is how many parts of a file a request may ask for.
const maxRanges = 16

// download answers GET /Download/{class}/…. Ranges and conditions are left to net/http,
// which sends a file by sendfile.
func (c *call) download() {
	if f, ok := c.file(); ok {
		c.a.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": f.Reference().Name()}))
		c.date(f)
		c.send(f, c.a.noFile)
	}
}

// date sets Last-Modified to when the bytes of a path came into service. It is exact for a
// path that has the same bytes for all followers; another one has no such time. A later time
// of the client does not mean that it has these bytes, since a ring may have seen others
// until then. So If-Modified-Since counts only if it is the very time that was sent.
func (c *call) date(f catalog.File) {
	since := c.r.Header.Get("If-Modified-Since")
	if c.a.Header().Get("Cache-Control") == "" {
		at := f.Revision.PublishedAt.UTC().Format(http.TimeFormat)
		c.a.Header().Set("Last-Modified", at)
		if since == at {
			return
		}
	}
	c.r.Header.Del("If-Modified-Since")
}

// send sends the content of a file. pruned answers when it is gone.
func (c *call) send(f catalog.File, pruned func()) {
	object, err := c.s.cfg.Catalog.Open(f)
	c.sendFile(object, err, etagOf(f.Object()), pruned)
}

// sendFile sends a file, which it closes, or answers the error of opening it.
func (c *call) sendFile(file *os.File, err error, etag string, gone func()) {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		c.a.Header().Del("Content-Disposition")
		c.a.Header().Del("Last-Modified")
		gone()
		return
	case err != nil:
		c.a.Header().Del("Last-Modified")
		c.a.problem(http.StatusInternalServerError, typeProblem("internalError", "The file cannot be read at the moment."))
		return
	}
	defer file.Close()
	h := c.a.Header()
	h.Set("ETag", etag)
	h.Set("Content-Type", "application/octet-stream")
	if strings.Count(c.r.Header.Get("Range"), ",") >= maxRanges {
		h.Del("ETag")
		h.Del("Last-Modified")
		c.a.problem(http.StatusRequestedRangeNotSatisfiable, titleProblem(http.StatusRequestedRangeNotSatisfiable, "Range", "There are too many ranges."))
		return
	}
	modified, _ := http.ParseTime(h.Get("Last-Modified")) // zero without one
	http.ServeContent(c.a, c.r, "", modified, file)
}
