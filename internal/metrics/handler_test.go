package metrics

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
)

// collector counts how often it is gathered, and fails with err.
type collector struct {
	gathers int
	err     error
}

func (*collector) Describe(chan<- *prometheus.Desc) {}

func (p *collector) Collect(ch chan<- prometheus.Metric) {
	p.gathers++
	if p.err != nil {
		ch <- prometheus.NewInvalidMetric(prometheus.NewInvalidDesc(p.err), p.err)
	}
}

func ask(h http.Handler, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("GET", "/metrics", nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestAFloodOfScrapesGathersSeldomAndIsAnsweredAlike(t *testing.T) {
	m, reg := used(t)
	source := &collector{}
	reg.MustRegister(source)
	h := Handler(reg)
	for i := range 5 { // scrapes of the usual pace see every change
		if body := ask(h).Body.String(); !strings.Contains(body, fmt.Sprintf(`syncd_files_downloaded_total{manifest="one"} %d`, i+1)) {
			t.Fatalf("scrape %d is stale", i)
		}
		m.FileDownloaded("one")
	}
	h.(*handler).limit.SetLimit(0) // no more tokens from here on
	for range 1000 {
		if w := ask(h); w.Code != 200 || !strings.Contains(w.Body.String(), "syncd_build_info") || !strings.Contains(w.Header().Get("Content-Type"), "text/plain") {
			t.Fatalf("status %d, %v", w.Code, w.Header())
		}
	}
	if source.gathers > gatherBurst+5 {
		t.Errorf("gathered %d times", source.gathers)
	}
	zipped := ask(h, "Accept-Encoding", "gzip")
	reader, err := gzip.NewReader(zipped.Body)
	if err != nil {
		t.Fatalf("a gzip response is not gzip: %v, %v", err, zipped.Header())
	}
	if text, err := io.ReadAll(reader); err != nil || !strings.Contains(string(text), "syncd_build_info") {
		t.Errorf("%v: %q", err, text)
	}
	before := source.gathers
	for i := range 100 {
		w := httptest.NewRecorder()
		r := httptest.NewRequest("GET", fmt.Sprintf("/metrics?%d&name[]=syncd_build_info", i), nil)
		r.Header.Set("Accept", fmt.Sprintf("text/plain;x=%d, application/openmetrics-text", i))
		r.Header.Set("Accept-Encoding", fmt.Sprintf("zstd, x-%d", i))
		h.ServeHTTP(w, r)
		if w.Code != 200 || !strings.Contains(w.Body.String(), "syncd_files_downloaded_total") {
			t.Fatalf("with another Accept header: %d %.100s", w.Code, w.Body)
		}
	}
	if source.gathers > before {
		t.Errorf("other Accept headers gathered %d times more", source.gathers-before)
	}
}

// TestProtobufHasNativeHistograms asks as Prometheus does: its version decides about the
// order and the parameters.
func TestProtobufHasNativeHistograms(t *testing.T) {
	m, reg := used(t)
	m.SyncTook(3 * time.Second)
	h := Handler(reg)
	for _, accept := range []string{
		"application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited,application/openmetrics-text;version=1.0.0;q=0.8,text/plain;version=0.0.4;q=0.7",
		"application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;escaping=allow-utf-8;q=0.6,text/plain;version=0.0.4;q=0.2",
	} {
		w := ask(h, "Accept", accept)
		decoder := expfmt.NewDecoder(w.Body, expfmt.ResponseFormat(w.Header()))
		found := false
		for {
			var family dto.MetricFamily
			if err := decoder.Decode(&family); err != nil {
				if err != io.EOF {
					t.Fatal(err)
				}
				break
			}
			if family.GetName() == "syncd_sync_duration_seconds" {
				both := family.GetMetric()[0].GetHistogram()
				found = len(both.GetPositiveSpan()) > 0 && len(both.GetBucket()) == 10 && both.GetSampleCount() == 2
			}
		}
		if !found {
			t.Errorf("%s: no native histogram beside the classic one", accept)
		}
	}
	if n := len(h.(*handler).last); n != 1 {
		t.Errorf("%d responses are cached, want 1", n)
	}
}

func TestGzipNeedsAnAcceptingClient(t *testing.T) {
	for offer, want := range map[string]string{
		"": "identity", "gzip": "gzip", "gzip;q=0": "identity", "gzip; q=0.0, br": "identity", "gzip;q=0.5": "gzip", "deflate, gzip": "gzip",
		"zstd": "identity", "x-gzip": "identity", "*": "identity",
	} {
		r := httptest.NewRequest("GET", "/metrics", nil)
		r.Header.Set("Accept-Encoding", offer)
		if got := encodingFor(r); got != want {
			t.Errorf("%q: %s, want %s", offer, got, want)
		}
	}
}

func TestFailedScrapeIsNotCached(t *testing.T) {
	source := &collector{err: errors.New("broken")}
	reg := prometheus.NewRegistry()
	reg.MustRegister(source)
	h := Handler(reg)
	h.(*handler).limit.SetLimit(0)
	h.(*handler).limit.SetBurst(0)
	if w := ask(h); w.Code != 500 {
		t.Errorf("status %d", w.Code)
	}
	source.err = nil
	if w := ask(h); w.Code != 200 {
		t.Errorf("status %d once the source works, want 200", w.Code)
	}
}
