package transport

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"
)

// pipeBody is a response body that a test fills byte by byte. As on a connection, the
// end of the context ends its reads.
func pipeBody(t *testing.T, timeout time.Duration) (*watchedBody, *io.PipeWriter) {
	t.Helper()
	watch := newStallWatch(t.Context(), timeout)
	r, w := io.Pipe()
	go func() {
		<-watch.ctx.Done()
		r.CloseWithError(errors.New("connection closed"))
	}()
	body := &watchedBody{body: r, watch: watch, wrap: func(err error) error { return err }}
	t.Cleanup(func() {
		body.Close()
		synctest.Wait()
	})
	return body, w
}

func TestASlowReaderDoesNotStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		body, w := pipeBody(t, time.Second)
		go func() {
			for range 10 {
				w.Write([]byte("0123456789"))
			}
			w.Close()
		}()
		var got bytes.Buffer
		p := make([]byte, 7)
		for {
			time.Sleep(time.Hour) // a slow disk or a bandwidth limit
			n, err := body.Read(p)
			got.Write(p[:n])
			if err == io.EOF {
				break
			}
			must(t, err)
		}
		if got.Len() != 100 {
			t.Errorf("%d bytes", got.Len())
		}
	})
}

func TestASlowServerDoesNotStallWhileBytesArrive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		body, w := pipeBody(t, time.Second)
		go func() {
			for range 1000 {
				time.Sleep(999 * time.Millisecond)
				w.Write([]byte("x"))
			}
			w.Close()
		}()
		if b, err := io.ReadAll(body); err != nil || len(b) != 1000 {
			t.Errorf("%d bytes, %v", len(b), err)
		}
	})
}

func TestATransferWithoutBytesEndsAtTheStallTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		body, w := pipeBody(t, time.Second)
		go w.Write([]byte("some"))
		begin := time.Now()
		b, err := io.ReadAll(body)
		if !errors.Is(err, errStalled) || string(b) != "some" || time.Since(begin) != time.Second {
			t.Errorf("after %v: %q, %v", time.Since(begin), b, err)
		}
	})
}

func TestOnlyABareEOFEndsABody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		body, w := pipeBody(t, time.Second)
		wrapped, seen := fmt.Errorf("connection lost: %w", io.EOF), error(nil)
		body.wrap = func(err error) error {
			seen = err
			return &Error{Kind: Transient, Err: err}
		}
		go w.CloseWithError(wrapped)
		if _, err := io.ReadAll(body); !IsTransient(err) || seen != wrapped {
			t.Errorf("got %v", err)
		}
	})
}

// The body of a redirect can be slow to close, which ends the watch between two requests.
func TestAWatchThatEndsBetweenTwoRequestsIsATransientFault(t *testing.T) {
	c := newClient(t, "http://127.0.0.1:1")
	watch := newStallWatch(t.Context(), time.Minute)
	defer watch.end()
	watch.abandon(errStalled)
	_, err := c.open(t.Context(), &toGood, watch)
	if _, ok := errors.AsType[*Error](err); !ok || !IsTransient(err) || !errors.Is(err, errStalled) {
		t.Errorf("got %v", err)
	}
}
