package fetcher

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"syncd/internal/clients/transport"
	"syncd/internal/emulator"
	"syncd/internal/manifest"
	"syncd/internal/manifest/refusal"
	"syncd/internal/verify"
)

// misbehaviours are the faults of an erratic source.
var misbehaviours = []string{
	"no answer", "no such range", "the whole", "wrong bytes", "a shorter content", "a longer content", "a new validator",
	"no validator", "another range", "no length", "compressed", "cut off", "ends early", "ends early without a length",
	"fails after the last byte",
}

var errErratic = &transport.Error{Kind: transport.Transient, Err: errors.New("erratic")}

// erratic serves a content. A share of its responses misbehaves.
type erratic struct {
	content []byte
	part    float64

	mu    sync.Mutex
	rand  *rand.Rand
	etag  int
	asked []string
}

func (s *erratic) Download(ctx context.Context, _ manifest.File, h http.Header, _ bool) (*transport.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	misbehaviour := ""
	if s.rand.Float64() < s.part {
		misbehaviour = misbehaviours[s.rand.IntN(len(misbehaviours))]
	}
	s.asked = append(s.asked, h.Get("Range")+" "+misbehaviour)
	if misbehaviour == "no answer" {
		return nil, errErratic
	}
	res := s.answer(misbehaviour, h.Clone())
	if misbehaviour == "no such range" || res.Status == http.StatusRequestedRangeNotSatisfiable {
		return nil, &transport.Error{Kind: transport.Rejected, Status: http.StatusRequestedRangeNotSatisfiable}
	}
	cut := s.rand.Int64N(res.Length + 1)
	switch misbehaviour {
	case "no validator":
		res.Header.Del("ETag")
	case "another range":
		res.Header.Set("Content-Range", "bytes 5-9/10")
	case "compressed":
		res.Header.Set("Content-Encoding", "gzip")
	case "cut off":
		res.Body = endAfter(res.Body, cut, errErratic)
	case "ends early":
		res.Body = endAfter(res.Body, cut, io.EOF)
	case "fails after the last byte":
		res.Body = endAfter(res.Body, res.Length, errErratic)
	case "no length":
		res.Length = -1
	case "ends early without a length":
		res.Body, res.Length = endAfter(res.Body, cut, io.EOF), -1
	}
	res.Body = &cappedBody{ctx, res.Body, mib}
	return res, nil
}

// answer returns a response. A misbehaviour can replace the content, and half of the
// responses ignore If-Range.
func (s *erratic) answer(misbehaviour string, h http.Header) *transport.Response {
	content := s.content
	switch misbehaviour {
	case "the whole":
		h.Del("Range")
	case "wrong bytes":
		content = bytes.Clone(content)
		content[s.rand.IntN(len(content))] ^= 1
	case "a shorter content":
		content = content[:s.rand.IntN(len(content))]
	case "a longer content":
		content = append(bytes.Clone(content), 'x')
	case "a new validator":
		s.etag++
	}
	if s.rand.IntN(2) == 0 {
		h.Del("If-Range")
	}
	answer := httptest.NewRecorder()
	answer.Header().Set("ETag", fmt.Sprintf(`"%d"`, s.etag))
	http.ServeContent(answer, &http.Request{Method: http.MethodGet, Header: h}, "", time.Time{}, bytes.NewReader(content))
	res := answer.Result()
	return &transport.Response{Status: res.StatusCode, Header: res.Header, Length: res.ContentLength, Body: res.Body}
}

func (s *erratic) Retry(ctx context.Context, op func(progress func()) error) (err error) {
	for range 20 {
		if err = op(func() {}); !transport.IsTransient(err) || ctx.Err() != nil {
			return err
		}
		time.Sleep(time.Second)
	}
	return err
}

// endAfter returns the first bytes of a body and then an error.
func endAfter(body io.Reader, after int64, err error) io.ReadCloser {
	return io.NopCloser(io.MultiReader(io.LimitReader(body, after), &failingReader{err}))
}

// Every Fetch from an erratic server returns the right bytes or an error, also when
// its context ends early. A later Fetch from an honest server completes the file.
func TestFetchFromErraticServerIsNeverWrong(t *testing.T) {
	sizes := []int64{minSegmentedFile - 1, minSegmentedFile, minSegmentedFile + 1, 24*mib + 3}
	rounds := len(sizes)
	if os.Getenv("SYNCD_TORTURE") == "full" {
		rounds *= 100
	}
	contents := make([][]byte, len(sizes))
	for i, size := range sizes {
		contents[i] = readAll(t, emulator.Random(uint64(i), size))
	}
	for seed := range rounds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			source := &erratic{content: contents[seed%len(sizes)], rand: rand.New(rand.NewPCG(uint64(seed), 0))}
			dir, file := t.TempDir(), fileOf(t, source.content)
			synctest.Test(t, func(t *testing.T) {
				for _, source.part = range []float64{0.5, 0.2} {
					ctx, cancel := context.WithTimeout(t.Context(), time.Duration(source.rand.Int64N(int64(30*time.Second))))
					got, err := New(source, open(t, dir), fourSegments).Fetch(ctx, file, -1, &watcher{})
					var failed *transport.Error
					if cancel(); err == nil {
						source.wantWhole(t, dir, got)
					} else if ctx.Err() == nil && refusal.ReasonOf(err) == "" && !errors.As(err, &failed) {
						t.Errorf("%v: %q", err, source.asked)
					}
				}
				source.part = 0
				w := &watcher{}
				got, err := New(source, open(t, dir), fourSegments).Fetch(t.Context(), file, -1, w)
				if err != nil || w.mismatches == 0 && w.moved+w.resumed != int64(len(source.content)) {
					t.Errorf("%v, watcher got %+v: %q", err, w, source.asked)
				}
				source.wantWhole(t, dir, got)
			})
		})
	}
}

// wantWhole checks the fetched file and removes it.
func (s *erratic) wantWhole(t *testing.T, dir string, got verify.Proven) {
	t.Helper()
	if !bytes.Equal(readFile(t, filepath.Join(dir, got.Name)), s.content) {
		t.Errorf("a wrong content was proven; requests %q", s.asked)
	}
	if left := fileNames(t, dir); len(left) != 1 {
		t.Errorf("leftover files: %q", left)
	}
	must(t, os.Remove(filepath.Join(dir, got.Name)))
}
