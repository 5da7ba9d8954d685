package fetcher

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"syncd/internal/clients/transport"
	"syncd/internal/emulator"
	"syncd/internal/manifest"
	"syncd/internal/verify"
)

// rangeServer starts a server that answers requests for ranges with segment, and others
// with the content.
func rangeServer(t *testing.T, content []byte, segment func(w http.ResponseWriter, from, to int)) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"e"`)
		asked := r.Header.Get("Range")
		if asked == "" {
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
			return
		}
		var from int
		to := len(content)
		first, last, _ := strings.Cut(strings.TrimPrefix(asked, "bytes="), "-")
		fmt.Sscan(first, &from)
		if last != "" {
			fmt.Sscan(last, &to)
			to++
		}
		segment(w, from, to)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// A body without a length can hold more than its Content-Range says. The surplus must
// not reach the disk, because the bytes there may be hashed already.
func TestBytesBeyondTheRangeAreDropped(t *testing.T) {
	const size = 24 * mib
	content := readAll(t, emulator.Random(4, size))
	for name, here := range map[string]string{
		"before the end":     "[[0,1048576]]",
		"before other bytes": "[[0,1048576],[4194304,25165824]]",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newFixture(t, emulator.Bytes(content), manifest.SHA256)
			b.writePartial(content, `{"validator":"\"e\"","total":25165824,"here":`+here+`}`)
			url := rangeServer(t, content, func(w http.ResponseWriter, from, to int) {
				w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, to-1, size))
				w.WriteHeader(http.StatusPartialContent)
				w.(http.Flusher).Flush()
				w.Write(content[from:to])
				w.Write(bytes.Repeat([]byte("wrong"), mib))
			})
			w := &watcher{}
			got, err := New(connect(t, url, patient, time.Minute), open(t, b.dir), fourSegments).Fetch(t.Context(), b.file, -1, w)
			b.wantProven(got, err)
			if w.mismatches != 0 {
				t.Errorf("%d mismatches", w.mismatches)
			}
		})
	}
}

// fetchFromHost fetches the file from a server that answers requests for ranges with
// segment. Its first response waits until segments were requested, so that every
// machine requests some. It also returns the requested ranges.
func (b *fixture) fetchFromHost(content []byte, segment http.HandlerFunc) (verify.Proven, *watcher, []string, error) {
	b.t.Helper()
	h := &host{content: content, segment: segment, isRequested: make(chan struct{})}
	server := httptest.NewUnstartedServer(h)
	h.fetcher = New(connect(b.t, "http://"+server.Listener.Addr().String(), patient, time.Minute), open(b.t, b.dir), fourSegments)
	server.Start()
	defer server.Close()
	w := &watcher{}
	got, err := h.fetcher.Fetch(b.t.Context(), b.file, -1, w)
	return got, w, h.asked(), err
}

// host is the server of fetchFromHost.
type host struct {
	content     []byte
	segment     http.HandlerFunc
	fetcher     *Fetcher
	isRequested chan struct{} // closed at the first request for a range

	mu     sync.Mutex
	ranges []string // of the requests
}

func (h *host) asked() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.ranges)
}

func (h *host) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	asked := r.Header.Get("Range")
	h.mu.Lock()
	isFirst := len(h.ranges) == 0
	if asked != "" && !slices.ContainsFunc(h.ranges, func(before string) bool { return before != "" }) {
		close(h.isRequested)
	}
	h.ranges = append(h.ranges, asked)
	h.mu.Unlock()
	switch {
	case asked != "":
		h.segment(w, r)
		return
	case isFirst:
		w = &waitingWriter{ResponseWriter: w, r: r, host: h}
	}
	serve(w, r, h.content)
}

// serve answers correctly.
func serve(w http.ResponseWriter, r *http.Request, content []byte) {
	w.Header().Set("ETag", `"e"`)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
}

// waitingWriter writes hardly anything until segments were requested and the workers have
// ended. Then it writes the rest.
type waitingWriter struct {
	http.ResponseWriter
	r      *http.Request
	host   *host
	isOver bool
}

func (w *waitingWriter) Write(p []byte) (int, error) {
	written := 0
	for !w.isOver && written < len(p) {
		select {
		case <-w.host.isRequested:
			others := int64(fourSegments.Segments - 1)
			if err := w.host.fetcher.connections.Acquire(w.r.Context(), others); err != nil {
				return written, err
			}
			w.host.fetcher.connections.Release(others)
			w.isOver = true
		case <-time.After(10 * time.Millisecond):
			n, err := w.ResponseWriter.Write(p[written:min(written+1<<10, len(p))])
			if written += n; err != nil {
				return written, err
			}
			w.ResponseWriter.(http.Flusher).Flush()
		}
	}
	n, err := w.ResponseWriter.Write(p[written:])
	return written + n, err
}

func TestMainConnectionFetchesSegmentsThatFail(t *testing.T) {
	content := readAll(t, emulator.Random(4, 24*mib))
	tests := map[string]http.HandlerFunc{
		"the whole": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("ETag", `"e"`)
			w.Write(content)
		},
		"another content": func(w http.ResponseWriter, r *http.Request) {
			r.Header.Del("If-Range")
			w.Header().Set("ETag", `"f"`)
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(make([]byte, len(content))))
		},
		"another range": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("ETag", `"e"`)
			w.Header().Set("Content-Range", fmt.Sprintf("bytes 0-9/%d", len(content)))
			w.WriteHeader(http.StatusPartialContent)
			w.Write(make([]byte, 10))
		},
		"compressed": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("ETag", `"e"`)
			w.Header().Set("Content-Encoding", "gzip")
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(make([]byte, len(content))))
		},
		"busy":       func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) },
		"forbidden":  func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) },
		"cut off":    func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"no content": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) },
	}
	for name, segment := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newFixture(t, emulator.Bytes(content), manifest.SHA256)
			var once atomic.Bool
			got, w, asked, err := b.fetchFromHost(content, func(w http.ResponseWriter, r *http.Request) {
				if once.CompareAndSwap(false, true) {
					segment(w, r)
					return
				}
				serve(w, r, content)
			})
			b.wantProven(got, err)
			if w.mismatches != 0 || len(asked) < 2 {
				t.Errorf("%d mismatches, ranges %q", w.mismatches, asked)
			}
		})
	}
}

// A server that does not support ranges must not cause a restart: a long transfer
// would never end.
func TestRefusedSegmentsCauseNoRestart(t *testing.T) {
	const size = 18 * mib
	content := readAll(t, emulator.Random(4, size))
	for name, segment := range map[string]http.HandlerFunc{
		"the whole": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("ETag", `"e"`)
			w.Write(content)
		},
		"another validator": func(w http.ResponseWriter, r *http.Request) {
			r.Header.Del("If-Range")
			w.Header().Set("ETag", `"f"`)
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
		},
		"less": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("ETag", `"e"`)
			w.Header().Set("Content-Range", fmt.Sprintf("bytes 0-9/%d", size))
			w.WriteHeader(http.StatusPartialContent)
			w.Write(content[:10])
		},
		"no range": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newFixture(t, emulator.Bytes(content), manifest.SHA256)
			got, w, asked, err := b.fetchFromHost(content, segment)
			b.wantProven(got, err)
			if w.moved != size || len(asked) < 2 {
				t.Errorf("%d bytes arrived, ranges %q", w.moved, asked)
			}
		})
	}
}

// The controller of a long transfer probes again and again.
func TestRefusedSegmentsAreNotRequestedAgain(t *testing.T) {
	const size, rate = 18 * mib, 128 << 10
	content := readAll(t, emulator.Random(4, size))
	probe := fourSegments.Segments - 1 // requests
	tests := map[string]struct {
		refuse func(*transport.Response) error
		most   int // requests for segments
	}{
		"the whole": {func(res *transport.Response) error {
			res.Status = http.StatusOK
			return nil
		}, probe},
		"another validator": {func(res *transport.Response) error {
			res.Header.Set("ETag", `"newer"`)
			return nil
		}, probe},
		"no range": {func(*transport.Response) error {
			return &transport.Error{Kind: transport.Rejected, Status: http.StatusRequestedRangeNotSatisfiable}
		}, probe},
		"busy": {func(*transport.Response) error { // transient
			return &transport.Error{Kind: transport.Transient, Status: http.StatusServiceUnavailable}
		}, probe * size / rate * int(time.Second/controlInterval) / holdTicks},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				source := &cappedSource{contents: map[string][]byte{"": content}, rate: rate}
				source.change = func(res *transport.Response) error {
					if res.Status != http.StatusPartialContent {
						return nil
					}
					return tt.refuse(res)
				}
				w := &watcher{}
				if _, err := New(source, open(t, dir), fourSegments).Fetch(t.Context(), fileOf(t, content), -1, w); err != nil {
					t.Error(err)
				}
				if n := len(source.asked) - 1; w.moved != size || n < 1 || n > tt.most {
					t.Errorf("%d bytes arrived, %d segments were requested, want at most %d", w.moved, n, tt.most)
				}
			})
		})
	}
}

// A provider can serve wrong bytes for ranges, which only the digest shows. The file
// must still arrive.
func TestFetchWithoutSegmentsAfterMismatch(t *testing.T) {
	content, dir := readAll(t, emulator.Random(4, 18*mib)), t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		source := &cappedSource{contents: map[string][]byte{"": content}, rate: mib}
		source.change = func(res *transport.Response) error {
			if body := res.Body.(*cappedBody); res.Status == http.StatusPartialContent {
				body.rest = bytes.NewReader(make([]byte, body.rest.(*bytes.Reader).Len()))
			}
			return nil
		}
		w := &watcher{}
		if _, err := New(source, open(t, dir), fourSegments).Fetch(t.Context(), fileOf(t, content), -1, w); err != nil {
			t.Error(err)
		}
		if w.mismatches != 1 || source.asked[len(source.asked)-1] != "" {
			t.Errorf("%d mismatches, ranges %q", w.mismatches, source.asked)
		}
	})
}

// An HTTP/2 stream can be reset, or stall, between its last byte and its end.
func TestBodyThatFailsAfterLastByteIsComplete(t *testing.T) {
	content := readAll(t, emulator.Random(1, 2*mib))
	source := &memorySource{attempts: []func(http.Header) (*transport.Response, error){
		func(http.Header) (*transport.Response, error) {
			res := wholeResponse(content)
			res.Body = io.NopCloser(io.MultiReader(bytes.NewReader(content), &failingReader{&transport.Error{Kind: transport.Transient}}))
			return res, nil
		},
		func(h http.Header) (*transport.Response, error) {
			return nil, fmt.Errorf("requested again: %q", h.Get("Range"))
		},
	}}
	if _, err := New(source, open(t, t.TempDir()), Config{}).Fetch(t.Context(), fileOf(t, content), -1, &watcher{}); err != nil {
		t.Error(err)
	}
}

// A failure that wraps io.EOF, such as that of a proxy, is not the end of a body.
func TestWrappedEOFIsNoEndOfBody(t *testing.T) {
	content := readAll(t, emulator.Random(1, 2*mib))
	lost := &transport.Error{Kind: transport.Transient, Err: fmt.Errorf("connection lost: %w", io.EOF)}
	source := &memorySource{attempts: []func(http.Header) (*transport.Response, error){
		func(http.Header) (*transport.Response, error) {
			res := wholeResponse(content)
			res.Body, res.Length = endAfter(res.Body, mib, lost), -1
			return res, nil
		},
		func(http.Header) (*transport.Response, error) { return wholeResponse(content), nil },
	}}
	w := &watcher{}
	if _, err := New(source, open(t, t.TempDir()), Config{}).Fetch(t.Context(), fileOf(t, content), -1, w); err != nil || w.mismatches != 0 {
		t.Errorf("%d mismatches, %v", w.mismatches, err)
	}
}
