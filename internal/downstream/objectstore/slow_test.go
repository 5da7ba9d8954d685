package objectstore

import (
	"bytes"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"syncd/internal/host/rate"
)

func TestUploadsObeyTheBandwidth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit := rate.NewBudget(rate.Always(1 << 10))
		began := time.Now()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://localhost/", bytes.NewReader(make([]byte, 10<<10)))
		if err != nil {
			t.Fatal(err)
		}
		n, err := io.Copy(io.Discard, slowed(r, limit).Body)
		if took := time.Since(began); err != nil || n != 10<<10 || took < 8*time.Second || took > 12*time.Second {
			t.Errorf("%d bytes after %s: %v", n, took, err)
		}
	})
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/", nil)
	if err != nil || slowed(r, rate.NewBudget(rate.Always(1))) != r {
		t.Error("a request without a body is slowed", err)
	}
}
