package believer_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"strings"
	"testing"
	"time"

	"syncd/internal/downstream/believer"
	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/trust"
	"syncd/internal/manifest"
	"syncd/internal/manifest/refusal"
	"syncd/internal/store"
)

var start = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// memory keeps a belief as the state does.
type memory struct {
	known store.Belief
	err   error // of the next write
}

func (m *memory) Belief() (store.Belief, error) { return m.known, nil }

func (m *memory) SetBelief(next store.Belief) error {
	if m.err == nil {
		m.known = next
	}
	return m.err
}

// world is an origin, its texts, and a host that believes them.
type world struct {
	*testing.T
	keys   []*trust.PrivateKey
	chain  trust.Chain
	memory *memory
	host   *believer.Believer
	now    time.Time
	asked  []int // versions of the trust text
	count  believer.Count
}

func newWorld(t *testing.T, threshold, count int) *world {
	w := &world{T: t, memory: &memory{}, now: start}
	for _, name := range []string{"a", "b", "c", "d", "e"}[:count] {
		w.keys = append(w.keys, w.newKey(name))
	}
	text, err := trust.New("mirror.example.net", threshold, start.AddDate(5, 0, 0), publics(w.keys)...)
	if err != nil {
		t.Fatal(err)
	}
	w.chain = trust.Chain{text}
	w.restart(w.chain)
	return w
}

func (w *world) newKey(name string) *trust.PrivateKey {
	w.Helper()
	secret, _, err := trust.GenerateKey(name)
	if err != nil {
		w.Fatal(err)
	}
	key, err := trust.ParsePrivateKey(secret)
	if err != nil {
		w.Fatal(err)
	}
	return key
}

func publics(keys []*trust.PrivateKey) (list []trust.Key) {
	for _, k := range keys {
		list = append(list, k.Public())
	}
	return list
}

// restart begins with a trust file and what was kept.
func (w *world) restart(file trust.Chain) {
	w.Helper()
	var err error
	if w.host, err = believer.New(file, w.memory, func() time.Time { return w.now }); err != nil {
		w.Fatal(err)
	}
}

// rotate replaces all keys by another one.
func (w *world) rotate(name string) {
	w.Helper()
	key := w.newKey(name)
	next, err := w.chain.Next(trust.Change{Add: publics([]*trust.PrivateKey{key}), Remove: w.chain.Newest().Keys})
	if err == nil {
		next, err = w.chain.SignedBy(next, append(w.keys, key)...)
	}
	if err == nil {
		w.chain, err = w.chain.Add(next)
	}
	if err != nil {
		w.Fatal(err)
	}
	w.keys = []*trust.PrivateKey{key}
}

// offer is a generation that all keys signed, and the current.json that names it.
func (w *world) offer(number int, ring string) (bucket.Current, bucket.Generation) {
	w.Helper()
	g := bucket.Generation{
		Number: number, Ring: ring, Publisher: "p", PublishedAt: start, Version: "test",
		Manifests: []bucket.Manifest{{Name: "data", Release: "2026.09", Revision: "0123456789ab", Files: 1, RecordSHA256: manifest.ObjectID{1}}},
	}
	return w.name(g), g
}

// name is the current.json that names a generation, which all keys signed.
func (w *world) name(g bucket.Generation) bucket.Current {
	w.Helper()
	newest := w.chain.Newest()
	c := bucket.Current{
		Generation: g.Number, SHA256: sha256.Sum256(g.Text()), Publisher: "p", PublishedAt: w.now,
		Trust: bucket.TrustText{Version: newest.Version, SHA256: sha256.Sum256(newest.Bytes())},
	}
	text, err := trust.Statement{Origin: newest.Origin, Generation: g.Number, SHA256: c.SHA256, Issued: w.now, Expires: w.now.Add(48 * time.Hour)}.Sign(w.keys...)
	if err != nil {
		w.Fatal(err)
	}
	c.Statement = string(text)
	return c
}

// sees judges what an upstream offers.
func (w *world) sees(c bucket.Current, g bucket.Generation) error {
	err := w.host.Current(w.Context(), w.count, c, func(_ context.Context, version int) ([]byte, error) {
		w.asked = append(w.asked, version)
		return w.chain[version-1].Bytes(), nil
	})
	if err == nil {
		err = w.host.Generation(w.count, g)
	}
	return err
}

func (w *world) believes(c bucket.Current, g bucket.Generation) {
	w.Helper()
	if err := w.sees(c, g); err != nil {
		w.Fatal(err)
	}
}

func (w *world) refuses(want refusal.Reason, c bucket.Current, g bucket.Generation) {
	w.Helper()
	before := w.memory.known.Generation
	if err := w.sees(c, g); refusal.ReasonOf(err) != want {
		w.Errorf("got %q (%v), want %q", refusal.ReasonOf(err), err, want)
	}
	if after := w.memory.known.Generation; after != before && want != "" {
		w.Errorf("a refusal changed what is believed from %d to %d", before, after)
	}
}

func TestNothingGoesBackAfterARestart(t *testing.T) {
	w := newWorld(t, 1, 1)
	first, firstText := w.offer(7, "")
	w.believes(first, firstText)
	second, secondText := w.offer(8, "")
	w.believes(second, secondText)
	w.restart(w.chain)
	w.refuses(refusal.UpstreamRollback, first, firstText)
	w.believes(second, secondText)
	secondText.Version = "another"
	other, _ := w.offer(8, "")
	other.SHA256 = sha256.Sum256(secondText.Text())
	text, err := trust.Statement{Origin: "mirror.example.net", Generation: 8, SHA256: other.SHA256, Issued: w.now, Expires: w.now.Add(time.Hour)}.Sign(w.keys...)
	if err != nil {
		t.Fatal(err)
	}
	other.Statement = string(text)
	w.refuses(refusal.UpstreamRollback, other, secondText)
}

func TestEachRingIsCountedForItself(t *testing.T) {
	w := newWorld(t, 1, 1)
	rest, restText := w.offer(7, "rest")
	w.believes(rest, restText)
	canary, canaryText := w.offer(9, "canary")
	w.believes(canary, canaryText)
	older, olderText := w.offer(8, "rest")
	w.believes(older, olderText)
	w.refuses(refusal.UpstreamRollback, rest, restText)
	canary, canaryText = w.offer(8, "canary")
	w.refuses(refusal.UpstreamRollback, canary, canaryText)
}

// A publisher counts its bucket apart from what it serves and exports. A follower of the bucket
// that takes a bundle goes on with the bucket, and neither of the two goes back.
func TestABucketIsCountedForItself(t *testing.T) {
	w := newWorld(t, 1, 1)
	first, firstText := w.offer(11, "")
	second, secondText := w.offer(12, "")
	bundle, bundleText := w.offer(470_262, "")
	later, laterText := w.offer(470_263, "")
	w.count = believer.Bucket
	w.believes(first, firstText)
	w.count = believer.Serving
	w.believes(later, laterText)
	w.refuses(refusal.UpstreamRollback, bundle, bundleText)
	w.refuses(refusal.UpstreamRollback, second, secondText)
	w.count = believer.Bucket
	w.believes(second, secondText)
	w.restart(w.chain)
	w.refuses(refusal.UpstreamRollback, first, firstText)
	w.believes(second, secondText)
}

// A host that was moved to a later ring is shown an older generation. It keeps what it has, and
// says that this need not be an attack. A bucket has no rings.
func TestALaterRingIsNamedAsACause(t *testing.T) {
	w := newWorld(t, 1, 1)
	rest, restText := w.offer(470_262, "rest")
	w.believes(w.offer(470_263, "canary"))
	if err := w.sees(rest, restText); err == nil || !strings.Contains(err.Error(), "moved to a later ring") {
		t.Errorf("%v", err)
	}
	w.count = believer.Bucket
	first, firstText := w.offer(11, "")
	w.believes(w.offer(12, ""))
	if err := w.sees(first, firstText); err == nil || strings.Contains(err.Error(), "ring") {
		t.Errorf("%v", err)
	}
}

// A host that follows a bucket passes its texts on, by serve and in bundles. They say of
// themselves that they are of a bucket; what is not signed of that changes nothing.
func TestABucketThatIsPassedOn(t *testing.T) {
	w := newWorld(t, 1, 1)
	offer := func(number int) (bucket.Current, bucket.Generation) {
		_, g := w.offer(number, "")
		g.Count = bucket.CountBucket
		c := w.name(g)
		c.Count = g.Count
		return c, g
	}
	first, firstText := offer(11)
	second, secondText := offer(12)
	served, servedText := w.offer(470_262, "")
	later, laterText := w.offer(470_263, "")
	w.believes(second, secondText)
	w.believes(later, laterText)
	w.believes(second, secondText)
	w.restart(w.chain)
	third, thirdText := offer(13)
	w.believes(third, thirdText)
	lies := served
	lies.Count = bucket.CountBucket
	w.refuses(refusal.UpstreamRollback, served, servedText)
	w.refuses(refusal.UpstreamRollback, lies, servedText)
	w.refuses(refusal.UpstreamRollback, first, firstText)
	w.count = believer.Bucket
	w.refuses(refusal.UpstreamRollback, first, firstText)
	w.believes(third, thirdText)
}

// Who can write the bucket must not put there what its publisher serves or exports: its number
// is higher than those of the bucket, whatever its age. Nor must anybody between bring one count
// in the place of the other.
func TestWhatIsOfTheOtherCountDoesNotGoBack(t *testing.T) {
	w := newWorld(t, 1, 1)
	offer := func(number int, says string) (bucket.Current, bucket.Generation) {
		w.now = w.now.Add(time.Hour)
		_, g := w.offer(number, "")
		g.Count = says
		c := w.name(g)
		c.Count = says
		return c, g
	}
	served, servedText := offer(470_262, bucket.CountHost)
	w.count = believer.Bucket
	first, firstText := offer(11, bucket.CountBucket)
	w.believes(first, firstText)
	w.refuses(refusal.UpstreamRollback, served, servedText)
	w.believes(first, firstText)

	w.count = believer.Serving
	w.refuses(refusal.UpstreamRollback, served, servedText)
	w.believes(offer(470_263, bucket.CountHost))
	w.restart(w.chain)
	w.refuses(refusal.UpstreamRollback, first, firstText)
	w.believes(offer(12, bucket.CountBucket))
}

func TestWhatWasBelievedExpires(t *testing.T) {
	w := newWorld(t, 1, 1)
	c, g := w.offer(7, "")
	w.believes(c, g)
	for _, row := range []struct {
		after time.Duration
		want  refusal.Reason
	}{{48 * time.Hour, ""}, {49 * time.Hour, ""}, {49*time.Hour + time.Second, refusal.UpstreamFrozen}} {
		w.now = start.Add(row.after)
		if got := refusal.ReasonOf(w.host.Fresh()); got != row.want {
			t.Errorf("after %s: got %q, want %q", row.after, got, row.want)
		}
	}
	w.refuses(refusal.UpstreamFrozen, c, g)
	fresh := newWorld(t, 1, 1)
	fresh.chain, fresh.keys, fresh.now = w.chain, w.keys, w.now
	fresh.restart(w.chain)
	fresh.refuses(refusal.UpstreamFrozen, c, g) // a replay must not start a new host in the past
	renewed, _ := w.offer(7, "")
	w.believes(renewed, g)
	w.refuses(refusal.UpstreamFrozen, c, g)
	if got := w.memory.known; !got.Expires.Equal(w.now.Add(48 * time.Hour)) {
		t.Errorf("what is believed expires at %s", got.Expires)
	}
}

func TestTheWayFromTheFirstVersionToTheNinth(t *testing.T) {
	w := newWorld(t, 1, 1)
	file := w.chain
	c, g := w.offer(7, "")
	w.believes(c, g)
	for i := range 8 {
		w.rotate(string(rune('f' + i)))
	}
	late, lateText := w.offer(8, "")
	w.believes(late, lateText)
	if len(w.asked) != 8 || w.memory.known.Trust != 9 {
		t.Errorf("asked for %v, and holds version %d", w.asked, w.memory.known.Trust)
	}
	w.restart(file)
	w.refuses(refusal.Unsigned, c, g) // signed by keys that are gone
	if len(w.asked) != 8 {
		t.Errorf("a restart asked again: %v", w.asked)
	}
	w.restart(w.chain[:5])
	w.believes(late, lateText)
}

func TestAVersionThatWasFoundStaysWhenTheRestIsRefused(t *testing.T) {
	w := newWorld(t, 1, 1)
	file, old := w.chain, w.keys
	c, g := w.offer(7, "")
	w.rotate("z")
	c.Trust = bucket.TrustText{Version: 2, SHA256: sha256.Sum256(w.chain.Newest().Bytes())}
	w.refuses(refusal.Unsigned, c, g)
	w.restart(file)
	w.keys = old
	c.Trust = bucket.TrustText{}
	w.refuses(refusal.Unsigned, c, g)
}

func TestVersionsThatDoNotFollow(t *testing.T) {
	for name, row := range map[string]struct {
		change func(w *world, c *bucket.Current)
		want   refusal.Reason
	}{
		"a version that is skipped":   {func(w *world, _ *bucket.Current) { w.chain[1] = w.chain[2] }, refusal.BadTrust},
		"another text than was named": {func(_ *world, c *bucket.Current) { c.Trust.SHA256[0]++ }, refusal.BadTrust},
		"the first version again":     {func(w *world, _ *bucket.Current) { w.chain[1] = w.chain[0] }, refusal.BadTrust},
		"an older one is named": {func(w *world, c *bucket.Current) {
			c.Trust = bucket.TrustText{Version: 1, SHA256: sha256.Sum256(w.chain[0].Bytes())}
		}, refusal.Unsigned},
		"none is named":                    {func(_ *world, c *bucket.Current) { c.Trust = bucket.TrustText{} }, refusal.Unsigned},
		"all is well":                      {func(*world, *bucket.Current) {}, ""},
		"a newest one that has an end":     {func(w *world, _ *bucket.Current) { w.now = start.AddDate(5, 0, 1) }, refusal.BadTrust},
		"a newest one that just has ended": {func(w *world, _ *bucket.Current) { w.now = start.AddDate(5, 0, 0).Add(trust.Skew + 1) }, refusal.BadTrust},
	} {
		w := newWorld(t, 1, 1)
		w.rotate("x")
		w.rotate("y")
		c, g := w.offer(7, "")
		row.change(w, &c)
		t.Log(name)
		w.refuses(row.want, c, g)
	}
}

func TestAStateThatCannotBeWrittenBelievesNothing(t *testing.T) {
	w := newWorld(t, 1, 1)
	c, g := w.offer(7, "")
	w.memory.err = errors.New("read-only file system")
	if err := w.sees(c, g); !errors.Is(err, w.memory.err) {
		t.Errorf("got %v", err)
	}
}

func TestAnotherRootBeginsAgain(t *testing.T) {
	w := newWorld(t, 1, 1)
	c, g := w.offer(1<<30, "") // a thief of the key counted to the end
	w.believes(c, g)
	other := newWorld(t, 1, 2)
	other.memory = w.memory
	other.restart(other.chain)
	low, lowText := other.offer(3, "")
	other.believes(low, lowText)
	fork, err := trust.New("mirror.example.net", 1, start.AddDate(4, 0, 0), publics(other.keys)...)
	if err != nil {
		t.Fatal(err)
	}
	other.chain = trust.Chain{fork}
	other.restart(other.chain)
	low, lowText = other.offer(2, "")
	other.believes(low, lowText)
}

func TestAForkOfTheTrustFileIsRefused(t *testing.T) {
	w := newWorld(t, 1, 1)
	root, key := w.chain, w.keys
	w.rotate("x")
	c, g := w.offer(7, "")
	w.believes(c, g)
	w.chain, w.keys = root, key
	w.rotate("y")
	fork, forkText := w.offer(8, "")
	w.refuses(refusal.BadTrust, fork, forkText) // through the mirror
	w.restart(w.chain)                          // by hand
	w.refuses(refusal.BadTrust, fork, forkText)
}

// A line of a signature that nobody can check, or one signature less than there are, changes
// nothing of what a version says. Whoever stands between for one poll could have added it.
func TestAVersionWithOtherSignaturesIsTheSame(t *testing.T) {
	w := newWorld(t, 1, 2)
	file, stranger := w.chain, w.newKey("stranger")
	w.rotate("x")
	honest := w.chain
	signed, err := trust.Sign(honest[1].Bytes(), stranger)
	if err != nil {
		t.Fatal(err)
	}
	more, err := trust.ParseText(signed)
	if err != nil {
		t.Fatal(err)
	}
	if more.Fingerprint() == honest[1].Fingerprint() {
		t.Fatal("nothing was added")
	}
	w.chain = trust.Chain{honest[0], more}
	w.believes(w.offer(7, ""))
	w.chain = honest
	w.believes(w.offer(8, ""))
	w.restart(file)
	w.believes(w.offer(9, ""))
	w.restart(honest) // the operator copied the file
	w.believes(w.offer(10, ""))

	before := w.memory.known.Chain // what is refused exchanges nothing: others get these texts from here
	w.chain = trust.Chain{honest[0], more}
	old, oldText := w.offer(8, "")
	w.refuses(refusal.UpstreamRollback, old, oldText)
	if w.memory.known.Chain != before {
		t.Error("a refusal exchanged a version of the trust text")
	}
}
