package releases

import (
	"encoding/base64"
	"io"
	"net/http"
	"net/url"
	"strings"

	"syncd/internal/emulator/catalogue"
	"syncd/internal/emulator/wire"
)

// redirectToDownload answers GET /Download/{class}/… with a redirect to the
// download host. The target names the reference and not the content: a file that
// is republished during a download changes under its URL, as on a real host. The
// target holds no Customer ID.
func (s *Service) redirectToDownload(c *call) {
	it, ok := s.file(c)
	if !ok {
		return
	}
	token := base64.RawURLEncoding.EncodeToString([]byte(it.Tag + "?" + referencePath(it.File)))
	c.w.Header().Set("Location", s.cfg.DownloadURL(c.r)+"/files/"+token+"/"+url.PathEscape(it.Name))
	c.w.Header().Set("Cache-Control", "no-store")
	wire.Write(c.w, http.StatusFound, "", nil)
}

// ServeDownload answers the download host: GET /files/{token}/{name}.
func (s *Service) ServeDownload(w http.ResponseWriter, r *http.Request) {
	if !isRead(w, r) {
		return
	}
	it, ok := s.fileOfToken(r.URL)
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
	s.serveContent(w, r, it, f)
}

func (s *Service) fileOfToken(u *url.URL) (*catalogue.Item, bool) {
	verb, args, ok := splitPath(u.EscapedPath())
	if !ok || !strings.EqualFold(verb, "files") || len(args) != 2 {
		return nil, false
	}
	text, err := base64.RawURLEncoding.DecodeString(args[0])
	if err != nil {
		return nil, false
	}
	cut := strings.LastIndexByte(string(text), '?') // the path is escaped and has none
	class, segments, ok := splitPath(string(text[cut+1:]))
	if !ok {
		return nil, false
	}
	f, ok := reference(append([]string{class}, segments...), true)
	if !ok {
		return nil, false
	}
	f.Tag = string(text[:max(cut, 0)])
	return s.cfg.Catalogue.Exact(f)
}

// serveContent leaves ranges and conditions to net/http, which sends a file on
// disk by sendfile.
func (s *Service) serveContent(w http.ResponseWriter, r *http.Request, it *catalogue.Item, f io.ReadSeeker) {
	etag, err := s.cfg.Catalogue.ETag(r.Context(), it, f)
	if err != nil {
		wire.Empty(http.StatusInternalServerError).Write(w)
		return
	}
	w.Header().Set("ETag", etag)
	w.Header().Set("Content-Type", "application/octet-stream")
	http.ServeContent(w, r, "", it.Modified(f), f)
}
