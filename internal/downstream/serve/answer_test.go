package serve

import (
	"net/http"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// drip is a client that takes a part of an answer in each so long.
type drip struct {
	each     time.Duration
	deadline time.Time
}

func (d *drip) Header() http.Header { return http.Header{} }
func (d *drip) WriteHeader(int)     {}

func (d *drip) SetWriteDeadline(t time.Time) error {
	d.deadline = t
	return nil
}

func (d *drip) Write(p []byte) (int, error) {
	if time.Sleep(d.each); time.Now().After(d.deadline) {
		return 0, os.ErrDeadlineExceeded
	}
	return len(p), nil
}

// An answer in small parts has as much time for a MiB as one in large parts.
func TestAClientHasItsTimeForAMebibyteAndNotForEachPart(t *testing.T) {
	for _, row := range []struct {
		each time.Duration // for 64 KiB
		ends bool
	}{{7 * time.Second, true}, {9 * time.Second, false}} {
		synctest.Test(t, func(t *testing.T) {
			a := &answer{ResponseWriter: &drip{each: row.each}, ctx: t.Context(), patience: 2 * time.Minute}
			began := time.Now()
			var err error
			for n := 0; n < 4<<20 && err == nil; n += 64 << 10 {
				_, err = a.Write(make([]byte, 64<<10))
			}
			if took := time.Since(began); (err == nil) != row.ends || !row.ends && took > 3*time.Minute {
				t.Errorf("%s for 64 KiB: %v after %s", row.each, err, took)
			}
		})
	}
}
