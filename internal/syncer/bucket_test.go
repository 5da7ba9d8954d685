package syncer_test

import (
	"crypto/sha256"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/bucket/buckettest"
	"syncd/internal/golive"
	"syncd/internal/manifest"
	"syncd/internal/manifest/refusal"
	"syncd/internal/mirror"
	"syncd/internal/report"
	"syncd/internal/report/request"
	"syncd/internal/syncer/lockfile"
)

const prefix = "mirror/"

// follow is a world that mirrors a bucket of a real S3 server, and not the provider.
func follow(t *testing.T, names ...string) *world {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", buckettest.AccessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", buckettest.SecretKey)
	store := buckettest.New(t)
	front := buckettest.NewFront(t, store)
	w := start(t, names...)
	w.store, w.front = store, front
	w.source.URL = parseURL(t, front.Endpoint+"/"+buckettest.Bucket+"/"+prefix)
	w.configure()
	return w
}

func (w *world) put(generation int, releases ...buckettest.Release) {
	w.Helper()
	w.store.Publish(prefix, generation, releases...)
}

func of(release manifest.Release, content files) buckettest.Release {
	return buckettest.Release{Manifest: "data", Release: release, Files: content}
}

// askedBucket returns the requests since the last call, below the prefix.
func (w *world) askedBucket() string {
	var names []string
	for _, r := range w.front.Requests() {
		names = append(names, strings.TrimPrefix(r.Name, prefix))
	}
	return strings.Join(names, " ")
}

func TestFollowerMirrorsWhatTheBucketHas(t *testing.T) {
	w := follow(t, "data")
	w.put(1, of("2026.09", september()))
	w.expect(w.poll(), "data", report.Updated)
	w.serves("data", september())
	w.askedBucket()
	w.expect(w.poll(), "data", report.Unchanged)
	equal(t, "a poll", w.askedBucket(), "current.json")
	w.restart()
	w.expect(w.poll(), "data", report.Unchanged)
	equal(t, "a poll after a restart", w.askedBucket(), "current.json")

	w.put(2, of("2026.10", october()))
	w.expect(w.poll(), "data", report.Updated)
	w.serves("data", october())
	asked := strings.Fields(w.askedBucket())
	if len(asked) != 4 || !strings.HasPrefix(asked[2], "records/data/2026.10-") || !strings.HasPrefix(asked[3], "objects/") {
		t.Errorf("a new release with one new file: %v", asked)
	}
	equal(t, "requests to the provider", len(w.provider.Requests()), 0)
}

func TestAFollowerRefusesAFileThatShrankUntilThePublisherGoesBack(t *testing.T) {
	w := follow(t, "data")
	small, large := files{"a.dat": "a"}, files{"a.dat": strings.Repeat("x", 200_000)}
	w.put(1, of("2026.09", small))
	w.expect(w.poll(), "data", report.Updated)
	w.put(2, of("2026.10", large))
	w.expect(w.poll(), "data", report.Updated)
	w.put(3, of("2026.11", small))
	m := w.expect(w.poll(), "data", report.Refused)
	equal(t, "reason", m.Reason, string(refusal.Shrink))
	w.serves("data", large)
	back := of("2026.09", small)
	back.Held = true
	w.put(4, back)
	w.expect(w.poll(), "data", report.Updated)
	w.serves("data", small)
}

func TestFollowerGetsANewRevisionOfARelease(t *testing.T) {
	w := follow(t, "data")
	w.put(1, of("2026.09", september()))
	w.expect(w.poll(), "data", report.Updated)
	w.put(2, of("2026.09", october()))
	w.expect(w.poll(), "data", report.Updated)
	w.serves("data", october())
	w.expect(w.demand(), "data", report.Unchanged)
}

func TestManifestsOfOneGenerationGoLiveTogether(t *testing.T) {
	w := follow(t, "data", "more")
	both := func(release manifest.Release, content files) []buckettest.Release {
		return []buckettest.Release{of(release, content), {Manifest: "more", Release: release, Files: content}}
	}
	w.put(1, both("2026.09", september())...)
	w.expect(w.poll(), "data", report.Updated)
	w.put(2, both("2026.10", october())...)
	w.askedBucket()
	before := w.cfg.Mirror.Current().Number
	w.expect(w.poll(), "more", report.Updated)
	w.serves("more", october())
	equal(t, "generations", w.cfg.Mirror.Current().Number, before+1)
	equal(t, "requests for current.json", strings.Count(w.askedBucket(), "current.json"), 1)
}

func TestOldGenerationOfABucketIsRefused(t *testing.T) {
	w := follow(t, "data", "more")
	more := buckettest.Release{Manifest: "more", Release: "2026.09", Files: files{"m": "same"}}
	w.put(4, of("2026.09", september()), more)
	w.expect(w.poll(), "data", report.Updated)
	w.put(5, of("2026.09", october()), more)
	w.expect(w.poll(), "data", report.Updated)
	w.restart()
	w.put(4, of("2026.09", september()), more) // as a store that gives old data
	for range 2 {
		result := w.poll()
		w.expect(result, "data", report.Refused)
		w.expect(result, "more", report.Unchanged)
		equal(t, "reason", only(t, result, "data").Reason, string(refusal.Downgrade))
		w.serves("data", october())
		w.pass(w.cfg.Recheck)
	}
	w.expect(w.force(), "data", report.Updated)
	w.serves("data", september())
	w.expect(w.poll(), "data", report.Unchanged)
}

// A publisher's operator took the bucket back: its data is older, and its numbers may begin
// again at 1. Generations of before are then refused.
func TestFollowerAcceptsANewEpochAndRefusesThoseBefore(t *testing.T) {
	w := follow(t, "data")
	in := func(epoch int64, generation int, release buckettest.Release) {
		w.store.PublishIn(epoch, prefix, generation, release)
	}
	refused := func() {
		t.Helper()
		result := w.poll()
		w.expect(result, "data", report.Refused)
		equal(t, "reason", only(t, result, "data").Reason, string(refusal.Downgrade))
		w.serves("data", september())
		w.pass(w.cfg.Recheck)
	}
	in(0, 5, of("2026.10", october()))
	w.expect(w.poll(), "data", report.Updated)
	in(1, 2, of("2026.09", september()))
	w.front.Answer(func(rw http.ResponseWriter, r *http.Request) bool { // the first attempt fails
		return strings.HasPrefix(buckettest.Name(r), prefix+bucket.Objects) && notFound(rw)
	})
	w.expect(w.poll(), "data", report.Failed)
	w.front.Answer(nil)
	w.restart()
	w.expect(w.demand(), "data", report.Updated)
	w.serves("data", september())
	w.expect(w.poll(), "data", report.Unchanged)

	w.restart()
	in(0, 5, of("2026.10", october())) // as a store that gives old data
	refused()
	in(0, 6, of("2026.11", october())) // as a publisher of an earlier version
	refused()
	in(1, 3, of("2026.08", october())) // an older release needs an order, as always
	w.expect(w.poll(), "data", report.Refused)
	in(1, 1, of("2026.10", october()))
	refused()
	in(0, 6, of("2026.11", october()))
	w.expect(w.force(), "data", report.Updated)
	in(0, 7, of("2026.12", files{"a.dat": "1", "b.dat": "2"}))
	w.expect(w.poll(), "data", report.Updated)
}

func notFound(rw http.ResponseWriter) bool {
	rw.WriteHeader(http.StatusNotFound)
	return true
}

// The epoch of another bucket says nothing about this one.
func TestEpochOfTheFirstGenerationGivesNoRight(t *testing.T) {
	w := follow(t, "data")
	w.put(1, of("2026.10", october()))
	w.expect(w.poll(), "data", report.Updated)
	w.source.URL = parseURL(t, w.front.Endpoint+"/"+buckettest.Bucket+"/other/")
	w.configure()
	w.store.PublishIn(3, "other/", 1, of("2026.09", september()))
	for range 2 {
		w.expect(w.poll(), "data", report.Refused)
		w.pass(w.cfg.Recheck)
	}
	w.serves("data", october())
}

func TestFollowerGoesBackWithItsPublisherOnly(t *testing.T) {
	w := follow(t, "data")
	w.put(1, of("2026.10", october()))
	w.expect(w.poll(), "data", report.Updated)
	back := of("2026.09", september())
	w.put(2, back)
	result := w.poll()
	w.expect(result, "data", report.Refused)
	equal(t, "reason", only(t, result, "data").Reason, string(refusal.Downgrade))
	w.serves("data", october())
	back.Held = true
	w.put(3, back)
	w.expect(w.demand(), "data", report.Updated)
	w.serves("data", september())
	w.put(4, of("2026.11", october()))
	w.expect(w.poll(), "data", report.Updated)
}

func TestFollowersOwnRollbackHolds(t *testing.T) {
	w := follow(t, "data")
	w.put(1, of("2026.09", september()))
	w.poll()
	w.put(2, of("2026.10", october()))
	w.expect(w.poll(), "data", report.Updated)
	w.rollback(request.Rollback{})
	w.expect(w.poll(), "data", report.Unchanged)
	w.expect(w.demand(), "data", report.Unchanged)
	w.serves("data", september())
	w.put(3, of("2026.11", files{"a.dat": "1", "b.dat": "2"}))
	w.expect(w.poll(), "data", report.Updated)
}

func TestMissingAndWrongObjectsStayOut(t *testing.T) {
	w := follow(t, "data")
	w.put(1, of("2026.09", september()))
	w.expect(w.poll(), "data", report.Updated)
	w.put(2, of("2026.10", october()))
	object := prefix + bucket.ObjectName(objectOf("b of october"))
	w.store.Remove(object)
	result := w.demand()
	w.expect(result, "data", report.Failed)
	if text := only(t, result, "data").Error; !strings.Contains(text, "NoSuchKey") {
		t.Error(text)
	}
	w.store.Put(object, []byte("b OF october"))
	result = w.demand()
	w.expect(result, "data", report.Refused)
	equal(t, "reason", only(t, result, "data").Reason, string(refusal.HashMismatch))
	w.serves("data", september())
	w.store.Put(object, []byte("b of october"))
	w.expect(w.demand(), "data", report.Updated)
	w.serves("data", october())
}

func TestPinnedReleaseOfABucketStays(t *testing.T) {
	w := follow(t, "data")
	w.target("data", func(target *golive.Target) { target.Release = "2026.09" })
	w.put(1, of("2026.10", october()))
	result := w.poll()
	w.expect(result, "data", report.Failed)
	if text := only(t, result, "data").Error; !strings.Contains(text, "the publisher has release 2026.10 of data, not 2026.09") {
		t.Error(text)
	}
	w.put(2, of("2026.09", september()))
	w.expect(w.demand(), "data", report.Updated)
	w.put(3, of("2026.10", october()))
	w.expect(w.poll(), "data", report.Unchanged)
	w.expect(w.demand(), "data", report.Unchanged)
	w.serves("data", september())
}

func TestGuardsAndFiltersHoldForABucket(t *testing.T) {
	w := follow(t, "data", "absent")
	w.target("data", func(target *golive.Target) { target.Filter.Exclude = []string{"*.lic"} })
	w.put(1, of("2026.09", september()))
	result := w.poll()
	w.expect(result, "data", report.Updated)
	w.expect(result, "absent", report.Failed)
	filtered := september()
	delete(filtered, "d.lic")
	w.serves("data", filtered)
	w.put(2, of("2026.10", files{"a.dat": "alone"}))
	equal(t, "reason", only(t, w.poll(), "data").Reason, string(refusal.Shrink))
	w.put(3, of("2027.10", october()))
	equal(t, "reason", only(t, w.poll(), "data").Reason, string(refusal.BadRelease))
	w.serves("data", filtered)
}

func TestServerThatIsKilledDuringDownloadsLosesNothing(t *testing.T) {
	w := follow(t, "data")
	big := strings.Repeat("0123456789abcdef", 3<<16) // 3 MiB
	w.put(1, of("2026.09", files{"big": big, "small": "s"}))
	object := prefix + bucket.ObjectName(objectOf(big))
	var kills atomic.Int64
	w.front.Answer(func(rw http.ResponseWriter, r *http.Request) bool {
		if buckettest.Name(r) != object || kills.Add(1) > 2 {
			return false
		}
		w.store.Kill()
		w.store.Start()
		rw.Header().Set("Content-Length", "3145728")
		_, _ = rw.Write([]byte(big[:1<<20]))
		panic(http.ErrAbortHandler)
	})
	w.expect(w.demand(), "data", report.Updated)
	w.serves("data", files{"big": big, "small": "s"})
}

func TestThrottlingDelaysASyncOnly(t *testing.T) {
	w := follow(t, "data")
	w.put(1, of("2026.09", september()))
	var requests atomic.Int64
	w.front.Answer(func(rw http.ResponseWriter, r *http.Request) bool {
		if requests.Add(1)%3 == 0 {
			return false
		}
		return buckettest.SlowDown(rw, r)
	})
	w.cfg.Transfers = 1
	w.configure()
	w.expect(w.demand(), "data", report.Updated)
	w.serves("data", september())
}

func TestLockFileIsMadeFromABucket(t *testing.T) {
	w := follow(t, "data")
	w.put(1, of("2026.09", september()))
	w.expect(w.poll(), "data", report.Updated)
	record := w.cfg.Mirror.Current().Records["data"]
	var text strings.Builder
	must(t, lockfile.Write(&text, w.cfg.Source, []mirror.Record{record}))
	w.close()
	must(t, os.RemoveAll(w.dir))
	w.open()
	w.put(2, of("2026.10", october()))
	w.expect(w.sync(request.Sync{Trigger: "command", Demand: true, Lockfile: []byte(text.String())}), "data", report.Updated)
	w.serves("data", september())
}

func objectOf(content string) manifest.ObjectID { return sha256.Sum256([]byte(content)) }

func TestSwitchToABucketDownloadsOnlyWhatDiffers(t *testing.T) {
	w := follow(t, "data")
	store, ofBucket, ofProvider := w.store, w.source.URL, parseURL(t, w.provider.URL())
	for _, algorithm := range []manifest.Algorithm{manifest.SHA256, manifest.MD5} {
		w.store, w.cfg.Bucket, w.source.URL, w.cfg.Algorithm = nil, nil, ofProvider, algorithm
		w.configure()
		w.publish("data", "2026.09", september())
		w.demand()
		w.serves("data", september())
		w.store, w.source.URL, w.cfg.Algorithm = store, ofBucket, manifest.SHA256
		w.configure()
		w.put(1, of("2026.09", september()))
		w.askedBucket()
		w.expect(w.poll(), "data", report.Unchanged)
		changed := october()
		changed["b.dat"] = algorithm.String()
		w.put(2, of("2026.09", changed))
		w.expect(w.poll(), "data", report.Updated)
		w.serves("data", changed)
		equal(t, "downloads", strings.Count(w.askedBucket(), "objects/"), 1)
	}
}

func TestAFollowerOfABucketKnowsWhatItsPublisherWasTold(t *testing.T) {
	for name, row := range map[string]struct {
		metadata string
		known    bool
	}{
		"told":     {`{"md5":"md5:00112233445566778899aabbccddeeff","members":[{"name":"BuildDate","value":"2026-09"}]}`, true},
		"nothing":  {"", false},
		"hostile":  {`{"md5":"sha1:0011","members":[{"name":"<script>","value":"x"}]}`, false},
		"odd":      {`[1]`, false},
		"too much": {`{"members":[{"name":"a","value":"` + strings.Repeat("x", 1000) + `"}]}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := follow(t, "data")
			w.cfg.Describe = true
			w.configure()
			release := of("2026.09", september())
			release.Metadata = row.metadata
			w.put(1, release)
			w.expect(w.poll(), "data", report.Updated)
			record := w.record("data")
			if m := record.Files[0].Metadata; record.Described != (row.metadata != "") || (m != nil) != row.known || row.known && (m.MD5.IsZero() || m.Members[0].Value != "2026-09") {
				t.Errorf("described %t: %+v", record.Described, m)
			}
			w.askedBucket()
			w.poll()
			equal(t, "a poll", w.askedBucket(), "current.json")
		})
	}
}

// The publisher was told about the files only after it had published them.
func TestAFollowerLearnsLaterWhatItsPublisherWasTold(t *testing.T) {
	w := follow(t, "data")
	w.cfg.Describe = true
	w.configure()
	release := of("2026.09", september())
	w.put(1, release)
	w.expect(w.poll(), "data", report.Updated)
	release.Metadata = `{"members":[{"name":"BuildDate","value":"2026-09"}]}`
	w.put(2, release)
	w.askedBucket()
	w.expect(w.poll(), "data", report.Unchanged)
	if requests := w.askedBucket(); strings.Contains(requests, "objects/") || strings.Count(requests, "records/") != 1 {
		t.Errorf("requests: %s", requests)
	}
	if record := w.record("data"); !record.Described || record.Files[0].Metadata == nil || record.Files[0].Metadata.Members[0].Value != "2026-09" {
		t.Errorf("described %t: %+v", record.Described, record.Files[0].Metadata)
	}
	w.poll()
	equal(t, "a poll", w.askedBucket(), "current.json")
}

func TestOrdersHoldForABucket(t *testing.T) {
	w := follow(t, "data")
	w.put(1, of("2026.09", september()))
	w.poll()
	w.put(2, of("2026.10", october()))
	w.expect(w.poll(), "data", report.Updated)
	w.askedBucket()
	w.orders(request.Order{Release: "2026.09", Trigger: request.TriggerPin}) // it is on disk
	w.expect(w.poll(), "data", report.Updated)
	w.serves("data", september())
	equal(t, "requests", w.askedBucket(), "current.json")
	w.expect(w.demand(), "data", report.Unchanged)
	w.orders(request.Order{Trigger: request.TriggerUnpin})
	w.expect(w.poll(), "data", report.Updated)
	w.serves("data", october())
	w.orders(request.Order{Release: "2026.11", Trigger: request.TriggerSkip})
	w.put(3, of("2026.11", files{"a.dat": "1", "b.dat": "2", "c.txt": "3"}))
	w.expect(w.poll(), "data", report.Unchanged)
	w.expect(w.demand(), "data", report.Unchanged)
	w.serves("data", october())
}

// A bucket that was emptied and filled by a publisher without memory counts from 1 again.
// Followers need no order for that. They go back neither to an older release, nor to the
// bucket of before.
func TestFollowerAcceptsARebuiltBucket(t *testing.T) {
	w := follow(t, "data")
	in := func(began int64, epoch int64, generation int, release buckettest.Release) {
		g := bucket.Generation{Number: generation, Epoch: epoch, Began: began, Publisher: "test", Version: "test"}
		buckettest.Write(g, func(name string, content []byte) { w.store.Put(prefix+name, content) }, release)
	}
	refused := func() {
		t.Helper()
		result := w.poll()
		w.expect(result, "data", report.Refused)
		equal(t, "reason", only(t, result, "data").Reason, string(refusal.Downgrade))
		w.pass(w.cfg.Recheck)
	}
	in(0, 2, 50, of("2026.10", october()))
	w.expect(w.poll(), "data", report.Updated)
	in(1000, 0, 1, of("2026.10", october()))
	w.expect(w.poll(), "data", report.Unchanged)
	in(1000, 0, 2, of("2026.09", september()))
	refused()
	in(0, 2, 51, of("2026.11", september()))
	refused()
	w.serves("data", october())
	in(1000, 1, 3, of("2026.09", september())) // its operator forced it
	w.expect(w.demand(), "data", report.Updated)
	w.serves("data", september())
	in(2000, 0, 1, of("2026.12", october()))
	w.expect(w.poll(), "data", report.Updated)
}
