package syncer_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"syncd/internal/clients/signature"
	"syncd/internal/clients/transport"
	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/bucket/buckettest"
	"syncd/internal/downstream/follower"
	"syncd/internal/fetcher"
	"syncd/internal/manifest/destruction"
	"syncd/internal/report"
	"syncd/internal/report/request"
	"syncd/internal/syncer"
)

// besides returns a Syncer of the same mirror for another place of the store, as a list of
// sources has it.
func (w *world) besides(prefix string) *syncer.Syncer {
	w.Helper()
	u := parseURL(w, w.front.Endpoint+"/"+buckettest.Bucket+"/"+prefix)
	carrier, err := transport.New(transport.Config{
		Base: u, StallTimeout: w.source.StallTimeout, Retry: transport.Retry(w.source.Retry), Observer: w.cfg.Metrics,
		Sign: signature.Signer(signature.Credentials(), buckettest.Region),
	})
	must(w, err)
	client := follower.New(carrier)
	w.clients = append(w.clients, client)
	files := fetcher.New(client, w.cfg.Mirror.Objects.Partial(), fetcher.Config{Files: 4, Segments: 4})
	return w.syncer.From(nil, client, files, transport.PublicURL(u), []string{w.cfg.Source})
}

// An old bucket of a list gives no order of before, and takes none back, however often it is asked;
// what it publishes later counts.
func TestAnOldSourceOfAListOrdersNothing(t *testing.T) {
	w := follow(t, "data")
	far := w.besides("far/")
	w.cfg.Siblings = []string{transport.PublicURL(parseURL(t, w.front.Endpoint+"/"+buckettest.Bucket+"/far/"))}
	w.configure()
	begin := time.Now().UTC().Truncate(time.Second)
	put := func(prefix string, number, minute int, order destruction.Order) {
		g := bucket.Generation{Number: number, Publisher: "test", Version: "test", PublishedAt: begin.Add(time.Duration(minute) * time.Minute)}
		if !order.IsZero() {
			g.Destruction = bucket.Orders{"data": order}
		}
		buckettest.Write(g, func(name string, content []byte) { w.store.Put(prefix+name, content) }, of("2026.09", september()))
	}
	seconds := func(s *syncer.Syncer) int {
		t.Helper()
		result, err := s.Sync(t.Context(), request.Sync{})
		must(t, err)
		if m := only(t, result, "data"); m.Result == report.Failed || m.Result == report.Refused {
			t.Errorf("%+v", m)
		}
		told := w.ordered()
		if told == nil {
			return 0
		}
		return int(told.Order.Seconds)
	}
	put("far/", 4, 0, destruction.Order{Seconds: 40})
	put(prefix, 5, 1, destruction.Order{Seconds: 50})
	equal(t, "of the first source", seconds(w.syncer), 50)
	for range 2 {
		equal(t, "while the second has an older order", seconds(far), 50)
	}
	put("far/", 5, 2, destruction.Order{Seconds: 52})
	equal(t, "of the second source", seconds(far), 52)
	equal(t, "of the first source, which is older now", seconds(w.syncer), 52)
	put("far/", 6, 3, destruction.Order{})
	equal(t, "taken back", seconds(far), 0)
	for range 2 {
		equal(t, "while the first has it still", seconds(w.syncer), 0)
	}
	put(prefix, 6, 4, destruction.Order{Seconds: 60})
	equal(t, "ordered again", seconds(w.syncer), 60)
	put("far/", 7, 0, destruction.Order{Seconds: 7}) // the clock of its publisher went back
	equal(t, "of a later generation with an earlier time", seconds(far), 60)
	put("far/", 8, 5, destruction.Order{Seconds: 80})
	equal(t, "of the second source again", seconds(far), 80)
}

// A release that the publisher's operator went back from does not come back from a source that has
// not heard of it. What that source publishes later counts.
func TestAnOldSourceOfAListUndoesNoRollback(t *testing.T) {
	w := follow(t, "data")
	far := w.besides("far/")
	w.cfg.Siblings = []string{transport.PublicURL(parseURL(t, w.front.Endpoint+"/"+buckettest.Bucket+"/far/"))}
	w.configure()
	begin := time.Now().UTC().Truncate(time.Second)
	put := func(prefix string, number, minute int, release buckettest.Release) {
		g := bucket.Generation{Number: number, Publisher: "test", Version: "test", PublishedAt: begin.Add(time.Duration(minute) * time.Minute)}
		buckettest.Write(g, func(name string, content []byte) { w.store.Put(prefix+name, content) }, release)
	}
	sync := func(s *syncer.Syncer, want report.Result) {
		t.Helper()
		result, err := s.Sync(t.Context(), request.Sync{Demand: true})
		must(t, err)
		w.expect(result, "data", want)
	}
	put(prefix, 5, 1, of("2026.10", october()))
	put("far/", 4, 1, of("2026.10", october()))
	sync(w.syncer, report.Updated)
	back := of("2026.09", september())
	back.Held = true
	put(prefix, 6, 2, back)
	sync(w.syncer, report.Updated)
	for range 2 {
		sync(far, report.Refused)
		w.serves("data", september())
	}
	sync(w.syncer, report.Unchanged)
	put("far/", 5, 3, of("2026.11", files{"a.dat": "1", "b.dat": "2"}))
	sync(far, report.Updated)
}

// What the first source of a list cannot give is repaired from the next one.
func TestTheNextSourceOfAListRepairs(t *testing.T) {
	w := follow(t, "data")
	w.put(1, of("2026.09", september()))
	w.store.Publish("far/", 1, of("2026.09", september()))
	w.expect(w.poll(), "data", report.Updated)
	w.corrupt("data/a.dat")
	w.front.Answer(func(rw http.ResponseWriter, r *http.Request) bool {
		return strings.HasPrefix(buckettest.Name(r), prefix) && notFound(rw)
	})
	if result := w.repair(); result.OK() {
		t.Errorf("%+v", result)
	}
	w.syncer.Next(w.besides("far/").Repairer)
	if result := w.repair(); len(result.Damage) != 1 || !result.OK() {
		t.Errorf("%+v", result)
	}
	w.serves("data", september())
}
