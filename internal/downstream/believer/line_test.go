package believer_test

import (
	"testing"
	"time"

	"syncd/internal/downstream/believer"
	"syncd/internal/downstream/bucket"
	"syncd/internal/manifest"
	"syncd/internal/manifest/refusal"
)

// place is a bucket of the publisher: when it began, and what it shows.
func (w *world) place(began int64, number int, published time.Time, content byte) (bucket.Current, bucket.Generation) {
	w.Helper()
	_, g := w.offer(number, "")
	g.Count, g.Began, g.PublishedAt = bucket.CountBucket, began, published
	g.Manifests[0].RecordSHA256 = manifest.ObjectID{content}
	c := w.name(g)
	c.Count, c.Began = g.Count, g.Began
	return c, g
}

// A bucket that was emptied counts from 1 again. What it showed before stays refused.
func TestARebuiltBucketIsBelieved(t *testing.T) {
	w := newWorld(t, 1, 1)
	w.count = believer.Bucket
	old, oldText := w.place(0, 499, start, 1)
	last, lastText := w.place(0, 500, start.Add(time.Hour), 2)
	older, olderText := w.place(100, 7, start.Add(time.Minute), 1)
	now, nowText := w.place(200, 1, start.Add(2*time.Hour), 3)
	w.believes(old, oldText)
	w.believes(last, lastText)
	w.refuses(refusal.UpstreamRollback, older, olderText)
	w.believes(now, nowText)
	w.restart(w.chain)
	w.refuses(refusal.UpstreamRollback, last, lastText)
	w.refuses(refusal.UpstreamRollback, old, oldText)
	w.refuses(refusal.UpstreamRollback, older, olderText)
	lies := last
	lies.Began = 200 // it is not signed
	w.refuses(refusal.UpstreamRollback, lies, lastText)
	w.believes(now, nowText)
}

// A publisher that writes to two places counts in each for itself. The same content is
// recognised, an older one is refused, whatever its number.
func TestASecondPlaceCannotGoBack(t *testing.T) {
	w := newWorld(t, 1, 1)
	w.count = believer.Bucket
	first := w.host
	second := first.Beside()
	from := func(b *believer.Believer) { w.host = b }

	a, aText := w.place(0, 50, start.Add(time.Hour), 2)
	same, sameText := w.place(100, 11, start, 2) // published there before
	old, oldText := w.place(100, 10, start.Add(-time.Hour), 1)
	later, laterText := w.place(100, 12, start.Add(2*time.Hour), 3)
	older, olderText := w.place(0, 51, start.Add(90*time.Minute), 9)
	w.believes(a, aText)
	from(second)
	w.refuses(refusal.UpstreamRollback, old, oldText)
	w.believes(same, sameText)
	if known := w.memory.known; known.Generation != 50 {
		t.Errorf("what is the same is followed as generation %d", known.Generation)
	}
	w.believes(later, laterText)
	w.refuses(refusal.UpstreamRollback, same, sameText)
	from(first)
	w.refuses(refusal.UpstreamRollback, a, aText)
	w.refuses(refusal.UpstreamRollback, older, olderText)
	newest, newestText := w.place(0, 52, start.Add(3*time.Hour), 4)
	w.believes(newest, newestText)
	w.restart(w.chain)
	w.refuses(refusal.UpstreamRollback, later, laterText)
}

// A publisher begins both of its places at once, and one of them misses a publication. The
// follower goes on there although the numbers are lower, and neither place brings back what the
// other has replaced. So it is for two hosts that serve the same, which count minutes.
func TestPlacesThatBeganAtOnceHaveNumbersOfTheirOwn(t *testing.T) {
	for name, count := range map[string]believer.Count{"buckets": believer.Bucket, "hosts": believer.Serving} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 1, 1)
			w.count = count
			at := func(number int, hours time.Duration, content byte) (bucket.Current, bucket.Generation) {
				c, g := w.place(0, number, start.Add(hours*time.Hour), content)
				if count == believer.Serving {
					g.Count = bucket.CountHost
					c = w.name(g)
					c.Count = g.Count
				}
				return c, g
			}
			near := w.host
			far := near.Beside()
			near.At("https://near.example.net")
			far.At("https://far.example.net")

			first, firstText := at(1, 0, 1)
			third, thirdText := at(3, 2, 3)
			fourth, fourthText := at(4, 3, 4)
			farThird, farThirdText := at(2, 2, 3)
			farFifth, farFifthText := at(3, 4, 5)
			w.believes(first, firstText)
			w.believes(third, thirdText)
			w.host = far
			w.refuses(refusal.UpstreamRollback, first, firstText)
			w.believes(farThird, farThirdText)
			w.believes(farFifth, farFifthText)
			w.refuses(refusal.UpstreamRollback, farThird, farThirdText)
			w.host = near
			w.refuses(refusal.UpstreamRollback, third, thirdText)
			w.refuses(refusal.UpstreamRollback, fourth, fourthText)
			w.believes(at(5, 5, 6))
			w.host = far
			w.refuses(refusal.UpstreamRollback, farFifth, farFifthText)
		})
	}
}

// One place may be frozen while the publisher signs at another one.
func TestEachPlaceIsFrozenForItself(t *testing.T) {
	w := newWorld(t, 1, 1)
	w.count = believer.Bucket
	first := w.host
	second := first.Beside()
	w.believes(w.place(0, 50, start, 1))
	w.now = w.now.Add(50 * time.Hour)
	w.host = second
	w.believes(w.place(100, 1, start, 1))
	w.believes(w.place(100, 2, start.Add(time.Hour), 2))
	if err := second.Fresh(); err != nil {
		t.Error(err)
	}
	if got := refusal.ReasonOf(first.Fresh()); got != refusal.UpstreamFrozen {
		t.Errorf("%q", got)
	}
}
