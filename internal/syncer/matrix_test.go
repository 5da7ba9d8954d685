package syncer_test

import (
	"cmp"
	"maps"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"syncd/internal/emulator"
	"syncd/internal/manifest/refusal"
	"syncd/internal/report"
)

// matrixEndpoints selects the requests of a sync, for the path of a fault.
var matrixEndpoints = map[string]emulator.Fault{
	"ManifestReleases": {Host: emulator.HostRelease, Path: "/ManifestReleases/*"},
	"Manifest":         {Host: emulator.HostRelease, Path: "/Manifest/*"},
	"Hash":             {Host: emulator.HostRelease, Path: "/SHA256/*"},
	"Metadata":         {Host: emulator.HostRelease, Path: "/Metadata/*"},
	"Download":         {Host: emulator.HostDownload},
}

// outcome is the expected result of a sync under a fault.
type outcome struct {
	tolerated int // hits that one sync retries without any effect on its result
	result    report.Result
	reason    refusal.Reason
	text      string // in the error
}

// The outcomes. A fault that is not tolerated ends the sync that meets it, and the
// next sync on demand succeeds.
func harmless() outcome { return outcome{tolerated: 2, result: report.Updated} }

func passing(text string) outcome { return outcome{tolerated: 2, result: report.Failed, text: text} }

func final(text string) outcome { return outcome{result: report.Failed, text: text} }

func refused(reason refusal.Reason, text string) outcome {
	return outcome{result: report.Refused, reason: reason, text: text}
}

// mismatch is the outcome of bytes with the wrong digest: the file is downloaded
// again once, and then its digest is asked for again.
func mismatch() outcome {
	return outcome{tolerated: 1, result: report.Refused, reason: refusal.HashMismatch, text: "also after a clean retry"}
}

// matrixRow is a fault with the outcomes of the syncs that it hits, by endpoint.
type matrixRow struct {
	fault emulator.Fault
	short outcome // of ManifestReleases, Manifest and Hash
	long  outcome // of Download
	but   map[string]outcome
	// cut breaks the first transfer off, so that the fault meets the request
	// that continues it.
	cut bool
	// stall is the stall timeout, where the fault needs one that comes.
	stall time.Duration
}

// soonStalled still leaves a busy machine enough time for every good response.
const soonStalled = 500 * time.Millisecond

// matrix has every kind of fault that the emulator knows.
var matrix = map[string]matrixRow{
	"status 408": {fault: emulator.Fault{Kind: emulator.KindStatus, Status: 408}, short: passing("408"), long: passing("408")},
	"status 425": {fault: emulator.Fault{Kind: emulator.KindStatus, Status: 425}, short: passing("425"), long: passing("425")},
	"status 429": {fault: emulator.Fault{Kind: emulator.KindStatus, Status: 429}, short: passing("429"), long: passing("429")},
	"status 500": {fault: emulator.Fault{Kind: emulator.KindStatus, Status: 500, Shape: "html"}, short: passing("500"), long: passing("500")},
	"status 503": {fault: emulator.Fault{Kind: emulator.KindStatus, Shape: "echo"}, short: passing("503"), long: passing("503")},
	"status 401": {
		fault: emulator.Fault{Kind: emulator.KindStatus, Status: 401, Type: "expiredLicense"},
		short: final("expiredLicense"), long: final("check the Customer ID"),
	},
	"status 403":             {fault: emulator.Fault{Kind: emulator.KindStatus, Status: 403}, short: final("invalidProduct"), long: final("403")},
	"status 404":             {fault: emulator.Fault{Kind: emulator.KindStatus, Status: 404}, short: final("404"), long: final("404"), but: map[string]outcome{"ManifestReleases": harmless()}},
	"status 418":             {fault: emulator.Fault{Kind: emulator.KindStatus, Status: 418}, short: final("418"), long: final("418")},
	"429 that says to wait":  {fault: emulator.Fault{Kind: emulator.KindStatus, Status: 429, RetryAfter: "3600"}, short: final("Retry-After"), long: final("Retry-After"), but: map[string]outcome{"Metadata": final("Retry-After")}},
	"503 that says to wait":  {fault: emulator.Fault{Kind: emulator.KindStatus, Status: 503, RetryAfter: "3600"}, short: final("Retry-After"), long: final("Retry-After"), but: map[string]outcome{"Metadata": final("Retry-After")}},
	"429, with a short wait": {fault: emulator.Fault{Kind: emulator.KindStatus, Status: 429, RetryAfter: "1"}, short: passing("Retry-After"), long: passing("Retry-After"), but: map[string]outcome{"Metadata": passing("Retry-After")}},

	"reset at once": {fault: emulator.Fault{Kind: emulator.KindReset}, short: passing(""), long: passing("")},
	"reset":         {fault: emulator.Fault{Kind: emulator.KindReset, After: 3}, short: passing("reset"), long: harmless()},
	"truncated":     {fault: emulator.Fault{Kind: emulator.KindTruncate, After: 3}, short: passing("the response ended before it was complete"), long: harmless()}, // three bytes each time are progress
	"never a byte":  {fault: emulator.Fault{Kind: emulator.KindTruncate}, short: passing("the response ended before it was complete"), long: passing("the response ended before it was complete")},
	"stalled": {
		fault: emulator.Fault{Kind: emulator.KindStall}, stall: soonStalled,
		short: passing("stalled"), long: passing("stalled"),
	},
	"delayed": {fault: emulator.Fault{Kind: emulator.KindDelay, Delay: time.Millisecond}, short: harmless(), long: harmless()},
	"delayed for too long": {
		fault: emulator.Fault{Kind: emulator.KindDelay, Delay: time.Hour}, stall: soonStalled,
		short: passing("stalled"), long: passing("stalled"),
	},
	"slow": {fault: emulator.Fault{Kind: emulator.KindSlow, Rate: 4 << 10}, short: harmless(), long: harmless()},
	"too slow": { // a file may be so slow, because it can be continued
		fault: emulator.Fault{Kind: emulator.KindSlow, Rate: 8}, stall: soonStalled,
		short: final("too slow"), long: harmless(),
	},

	"no ranges":                {fault: emulator.Fault{Kind: emulator.KindNoRanges}, short: harmless(), long: harmless(), cut: true},
	"no validators":            {fault: emulator.Fault{Kind: emulator.KindNoValidators}, short: harmless(), long: harmless(), cut: true},
	"no length":                {fault: emulator.Fault{Kind: emulator.KindNoLength}, short: harmless(), long: harmless(), cut: true},
	"another ETag each time":   {fault: emulator.Fault{Kind: emulator.KindChangeETag}, short: harmless(), long: harmless(), cut: true},
	"no date":                  {fault: emulator.Fault{Kind: emulator.KindDate, Date: "none"}, short: harmless(), long: harmless(), cut: true},
	"a clock a year ahead":     {fault: emulator.Fault{Kind: emulator.KindDate, Date: "8760h"}, short: harmless(), long: harmless(), cut: true},
	"a range one byte too far": {fault: emulator.Fault{Kind: emulator.KindBadRange}, short: harmless(), long: harmless(), cut: true},

	"corrupt": {fault: emulator.Fault{Kind: emulator.KindCorrupt}, short: refused(refusal.BadShape, ""), long: mismatch()},
	"a digest that is wrong": {
		fault: emulator.Fault{Kind: emulator.KindBody, Body: `"` + strings.Repeat("ab", 32) + `"`},
		short: refused(refusal.BadShape, ""), long: mismatch(),
		but: map[string]outcome{"Hash": mismatch()},
	},
	"a list of null": {fault: emulator.Fault{Kind: emulator.KindBody, Body: `[null]`}, short: refused(refusal.BadShape, ""), long: mismatch()},
	"an empty list": {
		fault: emulator.Fault{Kind: emulator.KindBody, Body: `[]`}, short: refused(refusal.BadShape, ""), long: mismatch(),
		but: map[string]outcome{"Manifest": refused(refusal.Empty, "lists no files")},
	},
	"206, unasked": {
		fault: emulator.Fault{Kind: emulator.KindBody, Status: 206, Body: `x`},
		short: refused(refusal.BadShape, ""), long: refused(refusal.BadShape, "206"),
	},

	"html":     {fault: emulator.Fault{Kind: emulator.KindShape, Shape: "html"}, short: refused(refusal.BadShape, ""), long: mismatch()},
	"object":   {fault: emulator.Fault{Kind: emulator.KindShape, Shape: "object"}, short: refused(refusal.BadShape, ""), long: mismatch()},
	"nonsense": {fault: emulator.Fault{Kind: emulator.KindShape, Shape: "nonsense"}, short: refused(refusal.BadShape, ""), long: mismatch()},
	"error":    {fault: emulator.Fault{Kind: emulator.KindShape, Shape: "error"}, short: refused(refusal.BadShape, ""), long: mismatch()},
	"echo":     {fault: emulator.Fault{Kind: emulator.KindShape, Shape: "echo"}, short: refused(refusal.BadShape, ""), long: mismatch()},
	"null":     {fault: emulator.Fault{Kind: emulator.KindShape, Shape: "null"}, short: refused(refusal.BadShape, ""), long: mismatch()},
	"empty": {
		fault: emulator.Fault{Kind: emulator.KindShape, Shape: "empty"}, short: refused(refusal.BadShape, ""), long: mismatch(),
		but: map[string]outcome{"Manifest": refused(refusal.Empty, "lists no files")},
	},
	"huge": {fault: emulator.Fault{Kind: emulator.KindShape, Shape: "huge"}, short: refused(refusal.TooLarge, "is larger than"), long: refused(refusal.TooLarge, "received 64 MiB")},

	"redirects in a circle": {fault: emulator.Fault{Kind: emulator.KindRedirect, Location: "self"}, short: passing("10 redirects"), long: passing("10 redirects")},
	"to plain http": {
		fault: emulator.Fault{Kind: emulator.KindRedirect, Location: "http://192.0.2.7/?ID={id}"},
		short: refused(refusal.Insecure, "plain http"), long: refused(refusal.Insecure, "plain http"),
	},
	"to a closed port": {
		fault: emulator.Fault{Kind: emulator.KindRedirect, Location: "http://127.0.0.1:1/"},
		short: passing("refused"), long: passing("refused"),
	},
	"to a file": {fault: emulator.Fault{Kind: emulator.KindRedirect, Location: "file:///etc/passwd"}, short: final("invalid address"), long: final("invalid address")},
	"to a file of a host": {
		fault: emulator.Fault{Kind: emulator.KindRedirect, Location: "file://localhost/etc/passwd"},
		short: final("not http or https"), long: final("not http or https"),
	},
}

// outcome is the row's outcome at an endpoint. A sync succeeds without Metadata,
// whatever happens to it.
func (r matrixRow) outcome(endpoint string) outcome {
	if f, ok := r.but[endpoint]; ok {
		return f
	}
	switch endpoint {
	case "Metadata":
		return harmless()
	case "Download":
		return r.long
	}
	return r.short
}

func TestTheMatrixHasEveryKindOfFault(t *testing.T) {
	known := map[string]bool{}
	for _, row := range matrix {
		known[row.fault.Kind] = true
	}
	for _, kind := range emulator.Kinds() {
		if !known[kind] {
			t.Errorf("no row has the kind %s", kind)
		}
	}
}

// endpoints are the requests that meet a row's fault: downloads, the requests with an
// outcome of their own, and one of the others in turn; all with SYNCD_TORTURE=full. The
// transport below treats the requests alike.
func (r matrixRow) endpoints(turn int) []string {
	all := slices.Sorted(maps.Keys(matrixEndpoints))
	if os.Getenv("SYNCD_TORTURE") == "full" {
		return all
	}
	chosen := append([]string{"Download", all[1+turn%(len(all)-1)]}, slices.Collect(maps.Keys(r.but))...)
	slices.Sort(chosen)
	return slices.Compact(chosen)
}

func TestEveryFaultAtEveryRequestIsRetriedOrLeavesTheOldReleaseServed(t *testing.T) {
	var syncs, lost atomic.Int64
	t.Run("matrix", func(t *testing.T) { // returns when its parallel tests have ended
		for i, name := range slices.Sorted(maps.Keys(matrix)) {
			for _, endpoint := range matrix[name].endpoints(i) {
				row, at := matrix[name], matrixEndpoints[endpoint]
				row.fault.Host, row.fault.Path = at.Host, at.Path
				t.Run(name+" at "+endpoint, func(t *testing.T) {
					t.Parallel()
					defer func() {
						if syncs.Add(2); t.Failed() {
							lost.Add(1)
						}
					}()
					c := &cell{world: served(t), row: row, outcome: row.outcome(endpoint)}
					c.passes()
					c.lasts()
				})
			}
		}
	})
	t.Logf("RELIABILITY fault matrix: %d faults at the %d requests of a sync, passing and lasting: %d times, lost %d", len(matrix), len(matrixEndpoints), syncs.Load(), lost.Load())
}

// cell is a fault at a request, in a world that serves september.
type cell struct {
	*world
	row     matrixRow
	outcome outcome
}

// allow sets how long a request is retried.
func (c *cell) allow(d time.Duration) {
	c.source.Retry.MaxElapsed, c.source.StallTimeout = d, cmp.Or(c.row.stall, time.Minute)
	c.configure()
}

// brief is the retry time for a lasting fault.
func (c *cell) brief() time.Duration { return max(200*time.Millisecond, 2*c.row.stall) }

// passes meets the fault as often as a sync tolerates it. When it tolerates none, it
// meets it once, and the next sync on demand must succeed without any cleaning up.
func (c *cell) passes() {
	c.Helper()
	c.allow(c.brief())
	if c.outcome.tolerated > 0 {
		c.allow(30 * time.Second)
	}
	c.publish("data", "2026.10", october())
	c.fault(max(c.outcome.tolerated, 1))
	result := c.demand()
	if c.outcome.tolerated == 0 {
		c.ends(result, september())
		c.forgetCoolDowns()
		result = c.demand()
	}
	c.expect(result, "data", report.Updated)
	c.serves("data", october())
	c.met()
}

// lasts meets the fault without end, and then a provider without the fault.
func (c *cell) lasts() {
	c.Helper()
	c.allow(c.brief())
	november := files{"a.dat": "a of september", "b.dat": "b of november", "c.txt": "c", "d.lic": "d"}
	c.publish("data", "2026.11", november)
	c.fault(0)
	began := time.Now()
	result := c.demand()
	if took := time.Since(began); took > time.Minute {
		c.Errorf("the sync took %s", took)
	}
	c.met()
	if c.outcome.result == report.Updated {
		c.expect(result, "data", report.Updated)
		c.serves("data", november)
		return
	}
	c.ends(result, october())
	c.provider.ClearFaults()
	c.forgetCoolDowns()
	c.allow(30 * time.Second)
	c.expect(c.demand(), "data", report.Updated)
	c.serves("data", november)
}

// fault makes the provider answer with the row's fault.
func (c *cell) fault(times int) {
	c.provider.ClearFaults()
	if c.row.cut {
		c.provider.AddFault(emulator.Fault{Kind: emulator.KindTruncate, Host: emulator.HostDownload, After: 3, Times: 1})
	}
	c.row.fault.Times = times
	c.provider.AddFault(c.row.fault)
}

// met requires that the fault hit something; a list is never asked for in ranges.
func (c *cell) met() {
	c.Helper()
	for _, state := range c.provider.Faults() {
		if f := state.Fault; state.Hits == 0 && (f.Kind != emulator.KindBadRange || f.Host == emulator.HostDownload) {
			c.Errorf("the fault %s hit nothing", f)
		}
	}
}

// ends expects the outcome of a sync that failed.
func (c *cell) ends(result report.Sync, tree files) {
	c.Helper()
	m := c.expect(result, "data", c.outcome.result)
	if m.Reason != string(c.outcome.reason) || m.Error == "" || !strings.Contains(m.Error, c.outcome.text) {
		c.Errorf("%s: %q, want %q and %q", m.Reason, m.Error, c.outcome.reason, c.outcome.text)
	}
	equal(c, "successful", result.OK(), false)
	c.serves("data", tree)
	c.whole()
}

// forgetCoolDowns lets the time pass that the provider asked to wait.
func (w *world) forgetCoolDowns() {
	w.Helper()
	known, err := w.cfg.Store.CoolDowns()
	must(w, err)
	for origin := range known {
		must(w, w.cfg.Store.SetCoolDown(origin, time.Now()))
	}
	w.configure()
}
