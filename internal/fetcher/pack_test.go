package fetcher

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"syncd/internal/clients/transport"
	"syncd/internal/manifest"
)

// packText is a source that has one text as every pack.
type packText []byte

func (p packText) OpenPack(context.Context, manifest.ObjectID) (*transport.Response, error) {
	return &transport.Response{Status: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(p)), Length: -1}, nil
}

func (packText) Download(context.Context, manifest.File, http.Header, bool) (*transport.Response, error) {
	return nil, errors.New("a pack was to come")
}

func (packText) Retry(_ context.Context, op func(progress func()) error) error { return op(func() {}) }

// packOf is a pack of contents, and its text.
func packOf(contents ...string) (p Pack, text []byte) {
	encoder, err := zstd.NewWriter(nil)
	if err != nil {
		panic(err)
	}
	for _, c := range contents {
		p.Contents = append(p.Contents, manifest.Object{ID: sha256.Sum256([]byte(c)), Size: int64(len(c))})
	}
	return p, encoder.EncodeAll([]byte(strings.Join(contents, "")), nil)
}

// FuzzPack requires that only proven contents are used, whatever comes.
func FuzzPack(f *testing.F) {
	contents := []string{"one", strings.Repeat("two", 300), "three"}
	p, text := packOf(contents...)
	f.Add(text)
	f.Fuzz(func(t *testing.T, text []byte) {
		fetcher := New(packText(text), nil, Config{})
		_ = fetcher.FetchPack(t.Context(), p, func(content manifest.Object, got []byte, _ int64) error {
			if sha256.Sum256(got) != content.ID || !slices.Contains(contents, string(got)) {
				t.Fatalf("%d bytes are taken for %s", len(got), content.ID)
			}
			return nil
		})
	})
}

func TestAPackThatIsCutGivesWhatCame(t *testing.T) {
	p, text := packOf("one", strings.Repeat("two", 20_000), "three")
	for name, row := range map[string]struct {
		text []byte
		want int
	}{"whole": {text, 3}, "none": {nil, 0}, "plain": {[]byte("onetwothree"), 0}, "cut": {text[:len(text)/2], 0}} {
		got := 0
		err := New(packText(row.text), nil, Config{}).FetchPack(t.Context(), p, func(manifest.Object, []byte, int64) error {
			got++
			return nil
		})
		if got != row.want || (err == nil) != (row.want == 3) {
			t.Errorf("%s: %d contents, %v", name, got, err)
		}
	}
}
