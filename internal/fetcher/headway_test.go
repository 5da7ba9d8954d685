package fetcher

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"syncd/internal/clients/transport"
	"syncd/internal/emulator"
	"syncd/internal/manifest"
)

// defaultMinRate is that of the configuration.
var defaultMinRate = transport.MinRate{Rate: 1 << 10, Over: 2 * time.Minute}

// slowSource serves content with retries on the fake clock. Each connection brings
// step bytes after each pause, and at most most bytes.
type slowSource struct {
	*transport.Client
	content  []byte
	step     int
	pause    time.Duration
	most     int
	attempts int
}

func newSlowSource(t *testing.T, content []byte, step int, pause time.Duration) *slowSource {
	t.Helper()
	retry := transport.Retry{InitialInterval: 500 * time.Millisecond, MaxInterval: 30 * time.Second, MaxElapsed: 15 * time.Minute}
	carrier, err := transport.New(transport.Config{Base: &url.URL{Scheme: "http", Host: "provider"}, Retry: retry})
	must(t, err)
	return &slowSource{Client: carrier, content: content, step: step, pause: pause, most: len(content)}
}

func (s *slowSource) Download(_ context.Context, _ manifest.File, h http.Header, _ bool) (*transport.Response, error) {
	s.attempts++
	res := wholeResponse(s.content)
	rest := s.content
	if got := h.Get("Range"); got != "" {
		from := position(strings.TrimSuffix(strings.TrimPrefix(got, "bytes="), "-"))
		rest = rest[from:]
		res.Status, res.Length = http.StatusPartialContent, int64(len(rest))
		res.Header.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(s.content)-1, len(s.content)))
	}
	res.Body = &slowBody{rest: bytes.NewReader(rest[:min(len(rest), s.most)]), source: s}
	return res, nil
}

func (s *slowSource) Retry(ctx context.Context, op func(progress func()) error) error {
	return s.Client.Retry(ctx, "Download", op)
}

type slowBody struct {
	rest   io.Reader
	source *slowSource
}

func (b *slowBody) Read(p []byte) (int, error) {
	time.Sleep(b.source.pause)
	return b.rest.Read(p[:min(len(p), b.source.step)])
}

func (b *slowBody) Close() error { return nil }

func TestADrippingFileFailsAfterTheRetryBudget(t *testing.T) {
	content := readAll(t, emulator.Random(1, mib))
	for name, most := range map[string]int{
		"a byte every 5 s": len(content),
		"a byte every 5 s, and the connection ends after each": 1,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				source := newSlowSource(t, content, 1, 5*time.Second)
				source.most = most
				begin := time.Now()
				_, err := New(source, open(t, dir), Config{MinRate: defaultMinRate}).Fetch(t.Context(), fileOf(t, content), -1, &watcher{})
				if took := time.Since(begin); took < 13*time.Minute || took > 18*time.Minute {
					t.Errorf("gave up after %v and %d attempts", took, source.attempts)
				}
				if !transport.IsTransient(err) {
					t.Errorf("the error is %v", err)
				}
				if most > 1 && !strings.Contains(err.Error(), "too slow: 24 B arrived in 2m0s, less than source.min_rate allows (1.0 KiB per second)") {
					t.Errorf("the error is %v", err)
				}
			})
		})
	}
}

func TestMinRateZeroLetsAFileDrip(t *testing.T) {
	content := readAll(t, emulator.Random(1, 1000))
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		source := newSlowSource(t, content, 1, 5*time.Second)
		if _, err := New(source, open(t, dir), Config{}).Fetch(t.Context(), fileOf(t, content), -1, &watcher{}); err != nil || source.attempts != 1 {
			t.Errorf("%d attempts, %v", source.attempts, err)
		}
	})
}

// A transfer that moves fast enough renews its retry budget, however often its
// connection ends.
func TestAFileAtTheMinRateIsNotDropped(t *testing.T) {
	content := readAll(t, emulator.Random(1, 4*mib))
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		source := newSlowSource(t, content, 5<<10, 5*time.Second)
		source.most = 200 << 10
		if _, err := New(source, open(t, dir), Config{MinRate: defaultMinRate}).Fetch(t.Context(), fileOf(t, content), -1, &watcher{}); err != nil {
			t.Error(err)
		}
	})
}

func TestTheBandwidthLimitMakesNoTransferSlow(t *testing.T) {
	content := readAll(t, emulator.Random(1, mib))
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		source := newSlowSource(t, content, 64<<10, time.Millisecond)
		source.most = 10 << 10 // each attempt brings few bytes in a long time
		f := New(source, open(t, dir), Config{MinRate: defaultMinRate, Bandwidth: limit(100)})
		if _, err := f.Fetch(t.Context(), fileOf(t, content), -1, &watcher{}); err != nil {
			t.Error(err)
		}
	})
}

// madeSource makes a content in pieces, each after a pause in which a few bytes of it come at
// a good rate.
type madeSource struct{ *slowSource }

func (s madeSource) Download(ctx context.Context, file manifest.File, h http.Header, isBulk bool) (*transport.Response, error) {
	res, err := s.slowSource.Download(ctx, file, h, isBulk)
	res.Received = func() int64 { return 0 }
	return res, err
}

// A body that is made here comes in large pieces. Over a slow line, the next one takes longer
// than the window of the least rate.
func TestAMadeContentMayPause(t *testing.T) {
	content := readAll(t, emulator.Random(1, 4*mib))
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		source := newSlowSource(t, content, 100<<10, 5*time.Minute)
		if _, err := New(madeSource{source}, open(t, dir), Config{MinRate: defaultMinRate}).Fetch(t.Context(), fileOf(t, content), -1, &watcher{}); err != nil || source.attempts != 1 {
			t.Errorf("%d attempts, %v", source.attempts, err)
		}
	})
}
