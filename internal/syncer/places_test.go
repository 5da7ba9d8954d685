package syncer_test

import (
	"maps"
	"testing"
	"time"

	"syncd/internal/downstream/believer"
	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/bucket/buckettest"
	"syncd/internal/downstream/follower"
	"syncd/internal/fetcher"
	"syncd/internal/manifest"
	"syncd/internal/manifest/refusal"
	"syncd/internal/report"
	"syncd/internal/syncer"
)

// A host with two sources passes on what the publisher signed at one of its places, then at the
// other one, which began later, and then at the first again. Its followers go on each time, and
// take nothing older.
func TestAHostPassesOnBothPlacesOfItsPublisher(t *testing.T) {
	w := start(t, "data")
	o := newOrigin(t)
	texts := map[string][]byte{}
	signed, err := believer.New(o.chain, &memory{}, func() time.Time { return o.now })
	must(t, err)
	client := follower.New(overHTTP(t, "/", texts), follower.Below(false)...)
	client.Believe(signed, believer.Serving)
	w.cfg.Provider, w.cfg.Bucket = nil, client
	w.cfg.Fetcher = fetcher.New(client, w.cfg.Mirror.Objects.Partial(), fetcher.Config{Files: 4, Segments: 4})
	w.syncer = syncer.New(w.cfg, w.progress)

	passesOn := func(began int64, number int, hours time.Duration, release manifest.Release, content string) {
		g := bucket.Generation{Number: number, Began: began, Count: bucket.CountBucket, PublishedAt: o.now.Add(hours*time.Hour - 24*time.Hour), Publisher: "test", Version: "test"}
		buckettest.Write(g, func(name string, text []byte) { o.texts[name] = text }, of(release, files{"a.dat": content}))
		o.statement(nil, o.alice, o.bob)
		for name, text := range maps.All(o.texts) {
			texts["-/mirror/"+name] = text
		}
	}
	const near, far = 1000, 1060
	passesOn(near, 7, 0, "2026.07", "july")
	w.expect(w.poll(), "data", report.Updated)
	passesOn(far, 5, 1, "2026.08", "august")
	w.expect(w.poll(), "data", report.Updated)
	passesOn(near, 9, 2, "2026.09", "september")
	w.expect(w.poll(), "data", report.Updated)
	w.serves("data", files{"a.dat": "september"})
	passesOn(far, 5, 1, "2026.08", "august")
	result := w.poll()
	w.expect(result, "data", report.Refused)
	equal(t, "reason", only(t, result, "data").Reason, string(refusal.UpstreamRollback))
	w.serves("data", files{"a.dat": "september"})
}
