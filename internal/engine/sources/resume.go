package sources

import (
	"context"
	"net/http"
	"strings"

	"syncd/internal/clients/transport"
	"syncd/internal/fetcher"
	"syncd/internal/manifest"
)

// Resumed returns a source of files that continues downloads which began at another one. The
// validator of another server says nothing about this one's content; the SHA-256 proves the
// whole file in the end, and a mismatch starts it over.
func Resumed(files fetcher.Source) fetcher.Source { return resumed{files} }

type resumed struct{ fetcher.Source }

// Download implements fetcher.Source.
func (r resumed) Download(ctx context.Context, file manifest.File, header http.Header, isBulk bool) (*transport.Response, error) {
	condition := header.Get("If-Range")
	if condition == "" || file.Expected.Algorithm != manifest.SHA256 {
		return r.Source.Download(ctx, file, header, isBulk)
	}
	header = header.Clone()
	header.Del("If-Range")
	res, err := r.Source.Download(ctx, file, header, isBulk)
	if err != nil || res.Status != http.StatusPartialContent {
		return res, err
	}
	res.Header = res.Header.Clone()
	name, other := "Last-Modified", "ETag"
	if strings.HasPrefix(condition, `"`) {
		name, other = other, name
	}
	res.Header.Set(name, condition)
	res.Header.Del(other)
	return res, nil
}
