package emulator

import (
	"encoding/base64"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"syncd/internal/emulator/wire"
)

// GET /Download/{class}/…: a redirect to the download host. The target names
// the reference, not the content: a file republished while somebody fetches it
// changes under its URL, as on a real host. It holds no Customer ID.
func (e *Emulator) downloadLink(c *call) {
	it, ok := e.file(c)
	if !ok {
		return
	}
	parts := append(it.segments(), it.Release, it.Name)
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	token := base64.RawURLEncoding.EncodeToString([]byte(strings.Join(parts, "/")))
	c.w.Header().Set("Location", e.download.urlFor(c.r)+"/files/"+token+"/"+url.PathEscape(it.Name))
	c.w.Header().Set("Cache-Control", "no-store")
	wire.Write(c.w, http.StatusFound, "", nil)
}

// serveDownload answers the download host: GET /files/{token}/{name}.
func (e *Emulator) serveDownload(w http.ResponseWriter, r *http.Request) {
	if !isRead(w, r) {
		return
	}
	it, ok := e.fileOfToken(r.URL)
	if !ok {
		wire.Empty(http.StatusNotFound).Write(w)
		return
	}
	f, err := it.Content.Open()
	if err != nil {
		wire.Empty(http.StatusNotFound).Write(w)
		return
	}
	defer func() { _ = f.Close() }() // only read
	e.serveContent(w, r, it, f)
}

func (e *Emulator) fileOfToken(u *url.URL) (*item, bool) {
	verb, args, ok := splitPath(u.EscapedPath())
	if !ok || !strings.EqualFold(verb, "files") || len(args) != 2 {
		return nil, false
	}
	path, err := base64.RawURLEncoding.DecodeString(args[0])
	if err != nil {
		return nil, false
	}
	class, segments, ok := splitPath(string(path))
	if !ok {
		return nil, false
	}
	f, ok := reference(append([]string{class}, segments...), true)
	if !ok {
		return nil, false
	}
	return e.catalogue.exact(f)
}

// serveContent leaves ranges and conditions to net/http; a file on disk goes
// out by sendfile.
func (e *Emulator) serveContent(w http.ResponseWriter, r *http.Request, it *item, f io.ReadSeeker) {
	etag, err := e.digests.etag(r.Context(), it, f)
	if err != nil {
		wire.Empty(http.StatusInternalServerError).Write(w)
		return
	}
	w.Header().Set("ETag", etag)
	w.Header().Set("Content-Type", "application/octet-stream")
	http.ServeContent(w, r, "", modified(it, f), f)
}

func modified(it *item, f any) time.Time {
	if info, ok := statOf(f); ok {
		return info.ModTime()
	}
	return it.modified
}
