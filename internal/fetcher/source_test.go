package fetcher

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"time"

	"syncd/internal/clients/transport"
	"syncd/internal/manifest"
)

// memorySource answers from memory, so that a test can run on a fake clock.
type memorySource struct {
	content    []byte
	named      map[string][]byte // used instead of content, by file name
	progressed atomic.Int64
	attempts   []func(h http.Header) (*transport.Response, error) // one for each request; the last one repeats
}

func (s *memorySource) Download(_ context.Context, file manifest.File, h http.Header, _ bool) (*transport.Response, error) {
	if s.named != nil {
		return wholeResponse(s.named[file.Reference.Name()]), nil
	}
	if len(s.attempts) == 0 {
		return wholeResponse(s.content), nil
	}
	attempt := s.attempts[0]
	if len(s.attempts) > 1 {
		s.attempts = s.attempts[1:]
	}
	return attempt(h)
}

func (s *memorySource) Retry(_ context.Context, op func(progress func()) error) error {
	for range 10 {
		if err := op(func() { s.progressed.Add(1) }); !transport.IsTransient(err) {
			return err
		}
	}
	return errors.New("ten transient faults")
}

func wholeResponse(content []byte) *transport.Response {
	return &transport.Response{Status: http.StatusOK, Header: http.Header{"Etag": {`"e"`}}, Length: int64(len(content)), Body: io.NopCloser(bytes.NewReader(content))}
}

type failingReader struct{ err error }

func (b *failingReader) Read([]byte) (int, error) { return 0, b.err }

// cappedSource serves contents by name, and caps each connection at a rate. On the fake
// clock of synctest, the load of the machine does not change how connections share work.
type cappedSource struct {
	contents map[string][]byte
	rate     int64  // bytes per second
	newer    []byte // if set, the content from the fourth request on
	change   func(*transport.Response) error

	mu    sync.Mutex
	asked []string // the Range header of each request
}

func (s *cappedSource) Download(ctx context.Context, file manifest.File, h http.Header, _ bool) (*transport.Response, error) {
	s.mu.Lock()
	s.asked = append(s.asked, h.Get("Range"))
	content, etag := s.contents[file.Reference.Name()], `"older"`
	if s.newer != nil && len(s.asked) > 3 {
		content, etag = s.newer, `"newer"`
	}
	s.mu.Unlock()
	answer := httptest.NewRecorder()
	answer.Header().Set("ETag", etag)
	// A HEAD request, because the recorder would copy the body.
	http.ServeContent(answer, &http.Request{Method: http.MethodHead, Header: h}, "", time.Time{}, bytes.NewReader(content))
	res := answer.Result()
	if got, err := parseContentRange(res.Header); err == nil {
		content = content[got.start : got.end+1]
	}
	changed := &transport.Response{Status: res.StatusCode, Header: res.Header, Length: res.ContentLength, Body: &cappedBody{ctx, bytes.NewReader(content), s.rate}}
	if s.change != nil {
		if err := s.change(changed); err != nil {
			return nil, err
		}
	}
	return changed, nil
}

func (s *cappedSource) Retry(_ context.Context, op func(progress func()) error) error {
	return op(func() {})
}

func (s *cappedSource) requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.asked)
}

type cappedBody struct {
	ctx  context.Context
	rest io.Reader
	rate int64
}

func (b *cappedBody) Read(p []byte) (int, error) {
	n, err := b.rest.Read(p)
	select {
	case <-time.After(time.Duration(n) * time.Second / time.Duration(b.rate)):
		return n, err
	case <-b.ctx.Done():
		return 0, context.Cause(b.ctx)
	}
}

func (b *cappedBody) Close() error { return nil }
