package crash_test

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"syncd/internal/e2e"
	"syncd/internal/emulator"
)

// lastingFault is a fault and the outcome of a sync with it. Package syncer tests
// every fault at every request.
type lastingFault struct {
	fault emulator.Fault
	text  string // of the error; "" for none
}

// lastingFaults has a row for each kind.
var lastingFaults = map[string]lastingFault{
	"an unavailable service":     {emulator.Fault{Kind: emulator.KindStatus, Path: e2e.AtList}, "status 503"},
	"an answer that never comes": {emulator.Fault{Kind: emulator.KindDelay, Delay: time.Hour, Path: e2e.AtReleases}, "stalled"},
	"an answer that drips in":    {emulator.Fault{Kind: emulator.KindSlow, Rate: 8, Path: e2e.AtList}, "too slow"},
	"a page in place of a hash":  {emulator.Fault{Kind: emulator.KindShape, Shape: "html", Path: e2e.AtHash}, "HTML page"},
	"a list of something else":   {emulator.Fault{Kind: emulator.KindBody, Body: `["a","b"]`, Path: e2e.AtList}, "link without /Download/"},
	"no date":                    {emulator.Fault{Kind: emulator.KindDate, Date: "none", Path: e2e.AtList}, ""},
	"a circle of redirects":      {emulator.Fault{Kind: emulator.KindRedirect, Location: "self", Path: e2e.AtList}, "more than 10 redirects"},

	"a download that stops":          {emulator.Fault{Kind: emulator.KindStall, Host: emulator.HostDownload}, "stalled"},
	"a download cut short":           {emulator.Fault{Kind: emulator.KindTruncate, Host: emulator.HostDownload}, "the response ended before it was complete"},
	"a connection that is reset":     {emulator.Fault{Kind: emulator.KindReset, Host: emulator.HostDownload}, "fetch a.dat"},
	"bytes that are not right":       {emulator.Fault{Kind: emulator.KindCorrupt, Host: emulator.HostDownload}, "also after a clean retry"},
	"a server without ranges":        {emulator.Fault{Kind: emulator.KindNoRanges, Host: emulator.HostDownload}, ""},
	"a server without validators":    {emulator.Fault{Kind: emulator.KindNoValidators, Host: emulator.HostDownload}, ""},
	"a server that tells no lengths": {emulator.Fault{Kind: emulator.KindNoLength, Host: emulator.HostDownload}, ""},
	"another ETag each time":         {emulator.Fault{Kind: emulator.KindChangeETag, Host: emulator.HostDownload}, ""},
	"a range one byte too far":       {emulator.Fault{Kind: emulator.KindBadRange, Host: emulator.HostDownload}, ""},
}

func TestEveryKindOfFaultHasARow(t *testing.T) {
	for _, kind := range emulator.Kinds() {
		found := false
		for _, row := range lastingFaults {
			found = found || row.fault.Kind == kind
		}
		if !found {
			t.Errorf("no row has the kind %s", kind)
		}
	}
}

func TestLastingFaultKeepsTheOldDataAndTheNextSyncRecovers(t *testing.T) {
	t.Parallel()
	var syncs atomic.Int64
	t.Run("faults", func(t *testing.T) { // returns after its parallel tests
		for name, row := range lastingFaults {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				row.bear(t)
				syncs.Add(2)
			})
		}
	})
	e2e.Reliability(t, "faults, end to end", "a sync under a fault of each kind without end, and one after it", int(syncs.Load()))
}

func (row lastingFault) bear(t *testing.T) {
	h := e2e.NewHost(t, "m")
	if slices.Contains([]string{emulator.KindDelay, emulator.KindSlow, emulator.KindStall}, row.fault.Kind) {
		h.Settings.Stall = "500ms"
		h.Configure()
	}
	h.Provider.SetManifest("m", "2026.10", emulator.File{Name: "a.dat", Content: emulator.Random(1, 100<<10)})
	h.Sync(0)
	before := h.Published("m")
	h.Provider.SetManifest("m", "2026.11", emulator.File{Name: "a.dat", Content: emulator.Random(2, 100<<10)})
	if row.text == "" { // only a resumed transfer shows the fault
		h.Provider.AddFault(emulator.Fault{Kind: emulator.KindTruncate, After: 10 << 10, Host: emulator.HostDownload, Times: 1})
	}
	h.Provider.AddFault(row.fault)
	if row.text != "" {
		r := h.Sync(1)
		e2e.Same(h, "generation", 1, r.Generation)
		e2e.Same(h, "published", before, h.Published("m"))
		h.Contains("the report", r.Manifests[0].Error, row.text)
		h.Contains("stderr", h.Expect(1, "sync").Stderr, row.text)
		h.Provider.ClearFaults()
	}
	e2e.Same(h, "generation", 2, h.Sync(0).Generation)
	if faults := h.Provider.Faults(); len(faults) > 0 && faults[1].Hits == 0 {
		t.Error("no request met the fault")
	}
	h.Proven()
}
