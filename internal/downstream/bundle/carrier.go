package bundle

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"syncd/internal/downstream/bucket"
	"syncd/internal/manifest"
	"syncd/internal/manifest/refusal"
)

// Scheme is that of the addresses in bundles. No network has it.
const Scheme = "bundle"

// Base is the address below which a bundle answers.
func Base() *url.URL { return &url.URL{Scheme: Scheme, Host: "disk", Path: "/"} }

// RoundTrip answers a request for a text or a content as the server of a bucket does, ranges
// included, so that a follower reads a bundle with the code by which it reads a network.
func (b *Bundle) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		req.Body.Close()
	}
	name := strings.TrimPrefix(req.URL.Path, "/")
	at, found := b.find(name)
	switch {
	case req.Method != http.MethodGet:
		return answer(req, http.StatusMethodNotAllowed, problem("a bundle can only be read")), nil
	case !found:
		return answer(req, http.StatusNotFound, problem(b.whyMissing(name))), nil
	}
	etag := b.etag(name)
	if etag != "" && req.Header.Get("If-None-Match") == etag {
		res := answer(req, http.StatusNotModified, nil)
		res.Header.Set("ETag", etag)
		return res, nil
	}
	size := at.size()
	from, to, isPart, ok := byteRange(req.Header.Get("Range"), size)
	if !ok {
		res := answer(req, http.StatusRequestedRangeNotSatisfiable, nil)
		res.Header.Set("Content-Range", fmt.Sprintf("bytes */%d", size))
		return res, nil
	}
	res := answer(req, http.StatusOK, nil)
	res.Body, res.ContentLength = io.NopCloser(b.body(name, at, from, to)), to-from
	res.Header.Set("Content-Length", strconv.FormatInt(to-from, 10))
	res.Header.Set("Accept-Ranges", "bytes")
	if etag != "" {
		res.Header.Set("ETag", etag)
	}
	if isPart {
		res.StatusCode, res.Status = http.StatusPartialContent, status(http.StatusPartialContent)
		res.Header.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, to-1, size))
	}
	return res, nil
}

func status(code int) string { return fmt.Sprintf("%d %s", code, http.StatusText(code)) }

func answer(req *http.Request, code int, body []byte) *http.Response {
	return &http.Response{
		Status: status(code), StatusCode: code, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)), Request: req,
	}
}

// problem is the body of an error.
func problem(message string) []byte {
	text, err := json.Marshal(map[string]string{"message": message})
	if err != nil {
		panic(err)
	}
	return text
}

// whyMissing says why the bundle lacks something, and what to do.
func (b *Bundle) whyMissing(name string) string {
	if _, isContent := bucket.ParseObjectName(name); isContent && !b.Since.IsZero() {
		return "the bundle leaves out what its receipt names, and this host has not got it: export again with a receipt of this host, or without --since"
	}
	return "the bundle has no " + name
}

// find finds a text or a content.
func (b *Bundle) find(name string) (located, bool) {
	if id, isContent := bucket.ParseObjectName(name); isContent {
		i, found := b.search(id)
		if !found {
			return nil, false
		}
		return append(located{b.contents[i].first}, b.contents[i].rest...), true
	}
	at, found := b.texts[name]
	return at, found
}

// TrustText reads a version of the trust text.
func (b *Bundle) TrustText(version int) ([]byte, error) {
	name := bucket.TrustName(version)
	at, found := b.texts[name]
	if !found {
		return nil, refusal.New(refusal.BadTrust, "%s", b.whyMissing(name))
	}
	return io.ReadAll(b.open(at, 0, at.size()))
}

func (b *Bundle) search(id manifest.ObjectID) (int, bool) {
	return slices.BinarySearchFunc(b.contents, id, func(c content, id manifest.ObjectID) int { return bytes.Compare(c.id[:], id[:]) })
}

// Has is true for a content that the bundle has.
func (b *Bundle) Has(id manifest.ObjectID) bool {
	_, found := b.search(id)
	return found
}

// HasRecord is true for a manifest of the generation whose record is in the bundle.
func (b *Bundle) HasRecord(m bucket.Manifest) bool { return b.texts[m.Record()] != nil }

// Contents is how many contents the bundle has, those that come as patches among them, and how
// many bytes it has of them.
func (b *Bundle) Contents() (count int, bytes int64) { return len(b.contents) + b.patches, b.bytes }

// etag is that of a content or of current.json. Other texts are asked for once.
func (b *Bundle) etag(name string) string {
	if id, isContent := bucket.ParseObjectName(name); isContent {
		return `"` + id.String() + `"`
	}
	if name == bucket.CurrentName {
		return `"` + b.current.String() + `"`
	}
	return ""
}

// byteRange reads a Range header. ok is false for one that cannot be satisfied; one that has
// another form is ignored, as RFC 9110 allows.
func byteRange(text string, size int64) (from, to int64, isPart, ok bool) {
	first, last, found := strings.Cut(strings.TrimPrefix(text, "bytes="), "-")
	from, err := strconv.ParseInt(first, 10, 64)
	if !found || err != nil || from < 0 || !strings.HasPrefix(text, "bytes=") {
		return 0, size, false, true
	}
	to = size
	if last != "" {
		end, err := strconv.ParseInt(last, 10, 64)
		if err != nil || end < from {
			return 0, size, false, true
		}
		if end < size {
			to = end + 1
		}
	}
	return from, to, true, from < size
}

// body is what open returns, of current.json as it was scanned: the signature that is checked must
// be that of the generation that Open returned, also on a disk whose bytes change. The digests in
// it lead to all other members.
func (b *Bundle) body(name string, at located, from, to int64) io.Reader {
	if name == bucket.CurrentName {
		return bytes.NewReader(b.text[from:to])
	}
	return b.open(at, from, to)
}

// open returns a member's bytes from an offset up to another one.
func (b *Bundle) open(at located, from, to int64) io.Reader {
	var readers []io.Reader
	begin := int64(0)
	for _, p := range at {
		lo, hi := max(from-begin, 0), min(to-begin, p.size)
		if lo < hi {
			f := b.Volumes[p.volume]
			readers = append(readers, &section{f.Name, io.NewSectionReader(f, p.offset+lo, hi-lo), hi - lo})
		}
		begin += p.size
	}
	return io.MultiReader(readers...)
}

// section reads a part of a volume, whose name its errors have.
type section struct {
	name string
	from io.Reader
	left int64
}

func (s *section) Read(p []byte) (int, error) {
	n, err := s.from.Read(p)
	s.left -= int64(n)
	if errors.Is(err, io.EOF) && s.left == 0 {
		return n, io.EOF
	}
	if err != nil {
		err = fmt.Errorf("bundle %s: %w", s.name, cutShort(err))
	}
	return n, err
}
