package publisher

import (
	"bytes"
	"crypto/sha256"
	"slices"
	"strings"
	"testing"
	"time"

	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/bucket/buckettest"
	"syncd/internal/downstream/trust"
	"syncd/internal/manifest"
	"syncd/internal/mirror"
	"syncd/internal/mirror/record"
	"syncd/internal/report"
)

// keys are the private keys of an origin, and its trust text.
type keys struct {
	private []*trust.PrivateKey
	chain   trust.Chain
}

func newKeys(t *testing.T, threshold int, names ...string) keys {
	t.Helper()
	var k keys
	var public []trust.Key
	for _, name := range names {
		secret, _, err := trust.GenerateKey(name)
		must(t, err)
		key, err := trust.ParsePrivateKey(secret)
		must(t, err)
		k.private, public = append(k.private, key), append(public, key.Public())
	}
	text, err := trust.New("mirror.example.net", threshold, time.Now().AddDate(1, 0, 0), public...)
	must(t, err)
	k.chain = trust.Chain{text}
	return k
}

// signsWith gives a publisher the key with an index.
func (k keys) signsWith(t *testing.T, i int, valid time.Duration) func(*Config) {
	t.Helper()
	signer, err := trust.NewSigner(k.private[i], k.chain, valid)
	must(t, err)
	return func(c *Config) { c.Signer = signer }
}

// believed is the generation that followers believe, 0 for none, and the names of its signers.
func (k keys) believed(t *testing.T, server *buckettest.Server) (number int, signers string) {
	t.Helper()
	c, err := bucket.ParseCurrent(file(t, server, bucket.CurrentName))
	must(t, err)
	s, by, err := k.chain.Newest().Believe([]byte(c.Statement))
	if err != nil {
		return 0, ""
	}
	if s.Generation != c.Generation || s.SHA256 != c.SHA256 || s.HasExpired(time.Now()) {
		t.Errorf("the statement is about %+v, current.json about generation %d", s, c.Generation)
	}
	names := make([]string, len(by))
	for i, key := range by {
		names[i] = key.Name()
	}
	return s.Generation, strings.Join(names, " ")
}

func (k keys) wantBelieved(t *testing.T, server *buckettest.Server, number int, signers string) {
	t.Helper()
	if got, by := k.believed(t, server); got != number || by != signers {
		t.Errorf("followers believe generation %d, signed by %q; want %d by %q", got, by, number, signers)
	}
}

func TestAPublisherSignsAndRenews(t *testing.T) {
	server, k, h := start(t), newKeys(t, 1, "a"), newHost(t)
	h.serve("addr", "2026.10", map[string]string{"a": "1"})
	plain := newPublisher(t, server.Endpoint, h, nil)
	mustPublish(t, plain, Request{})
	p := newPublisher(t, server.Endpoint, h, k.signsWith(t, 0, time.Hour))
	if done := mustPublish(t, p, Request{}); done.Result != report.UploadUnchanged || done.Generation != 1 {
		t.Errorf("%+v", done)
	}
	k.wantBelieved(t, server, 1, "a")
	if got := sha256.Sum256(file(t, server, "trust/1")); got != sha256.Sum256(k.chain[0].Bytes()) {
		t.Error("trust/1 is another text")
	}
	before := string(file(t, server, bucket.CurrentName))
	mustPublish(t, p, Request{})
	mustPublish(t, p, Request{Check: true})
	if now := string(file(t, server, bucket.CurrentName)); now != before || p.IsDue() {
		t.Error("a fresh statement was written again")
	}
	h.serve("addr", "2026.11", map[string]string{"a": "2"})
	if done := mustPublish(t, p, Request{}); done.Signed == nil || done.Signed.Missing != 0 || done.Signed.By[0] != "a" {
		t.Errorf("%+v", done.Signed)
	}
	k.wantBelieved(t, server, 2, "a")

	past, err := trust.Statement{Origin: "mirror.example.net", Generation: 2, SHA256: look(t, server).current.SHA256, Issued: time.Now().Add(-16 * time.Minute), Expires: time.Now().Add(44 * time.Minute)}.Sign(k.private[0])
	must(t, err)
	c := look(t, server).current
	c.Statement = string(past)
	server.Put("mirror/"+bucket.CurrentName, c.Text())
	mustPublish(t, p, Request{})
	if now := look(t, server).current; now.Statement == string(past) {
		t.Error("a statement after a quarter of its time was not renewed")
	}
	k.wantBelieved(t, server, 2, "a")
}

func TestTwoPublishersCollectSignatures(t *testing.T) {
	server, k := start(t), newKeys(t, 2, "a", "b", "spare")
	a, b := newHost(t), newHost(t)
	p := newPublisher(t, server.Endpoint, a, k.signsWith(t, 0, time.Hour))
	q := newPublisher(t, server.Endpoint, b, k.signsWith(t, 1, time.Hour))
	october := map[string]string{"a": "1"}
	a.serve("addr", "2026.10", october)
	if done := mustPublish(t, p, Request{}); done.Signed.Missing != 1 {
		t.Errorf("%+v", done.Signed)
	}
	k.wantBelieved(t, server, 0, "")
	b.serve("addr", "2026.09", map[string]string{"a": "0"})
	if done := mustPublish(t, q, Request{}); done.Result != report.UploadUnchanged || len(done.Kept) != 1 || done.Signed.Missing != 1 {
		t.Errorf("a publisher signed what it does not have: %+v, %+v", done, done.Signed)
	}
	b.serve("addr", "2026.10", october)
	if done := mustPublish(t, q, Request{}); done.Result != report.UploadUnchanged || done.Signed.Missing != 0 || q.IsDue() {
		t.Errorf("%+v, %+v", done, done.Signed)
	}
	k.wantBelieved(t, server, 1, "a b")

	november := map[string]string{"a": "2"}
	a.serve("addr", "2026.11", november)
	mustPublish(t, p, Request{})
	k.wantBelieved(t, server, 1, "a b") // followers see no generation that lacks signatures
	if !p.IsDue() {
		t.Error("the first publisher does not look for the second signature")
	}
	b.serve("addr", "2026.11", november)
	mustPublish(t, q, Request{})
	k.wantBelieved(t, server, 2, "a b")
	mustPublish(t, p, Request{})
	if p.IsDue() || q.IsDue() {
		t.Error("a generation that is signed is due")
	}
}

func TestRenewalOfTwoSignaturesLeavesTheOldStatementUntilThen(t *testing.T) {
	server, k := start(t), newKeys(t, 2, "a", "b")
	a, b := newHost(t), newHost(t)
	files := map[string]string{"a": "1"}
	a.serve("addr", "2026.10", files)
	b.serve("addr", "2026.10", files)
	p := newPublisher(t, server.Endpoint, a, k.signsWith(t, 0, time.Hour))
	q := newPublisher(t, server.Endpoint, b, k.signsWith(t, 1, time.Hour))
	mustPublish(t, p, Request{})
	mustPublish(t, q, Request{})
	c := look(t, server).current
	old, err := trust.Statement{Origin: "mirror.example.net", Generation: 1, SHA256: c.SHA256, Issued: time.Now().Add(-16 * time.Minute), Expires: time.Now().Add(44 * time.Minute)}.Sign(k.private...)
	must(t, err)
	c.Statement = string(old)
	server.Put("mirror/"+bucket.CurrentName, c.Text())
	mustPublish(t, p, Request{})
	c = look(t, server).current
	if c.Statement != string(old) || c.Next.Generation != 1 {
		t.Errorf("followers see %q, and %+v waits", c.Statement, c.Next)
	}
	k.wantBelieved(t, server, 1, "a b")
	mustPublish(t, q, Request{})
	c = look(t, server).current
	if c.Statement == string(old) || c.Next != (bucket.Next{}) {
		t.Errorf("followers see %q, and %+v waits", c.Statement, c.Next)
	}
	k.wantBelieved(t, server, 1, "a b")
}

// Followers of two keys see a place that was taken back once the other publisher serves the
// same. Before that, it writes nothing there.
func TestTheOtherPublisherSignsAPlaceThatWasTakenBack(t *testing.T) {
	server, k := start(t), newKeys(t, 2, "a", "b", "spare")
	a, b := newHost(t), newHost(t)
	p := newPublisher(t, server.Endpoint, a, k.signsWith(t, 0, time.Hour))
	q := newPublisher(t, server.Endpoint, b, k.signsWith(t, 1, time.Hour))
	october, november := map[string]string{"a": "1"}, map[string]string{"a": "2"}
	a.serve("addr", "2026.10", october)
	b.serve("addr", "2026.10", october)
	mustPublish(t, q, Request{})
	mustPublish(t, p, Request{})
	k.wantBelieved(t, server, 1, "a b")

	standing(t, mustPublish(t, p, Request{Force: true}), report.Uploaded, 2, 1, p, false)
	standing(t, mustPublish(t, q, Request{}), report.UploadUnchanged, 2, 1, p, false)
	k.wantBelieved(t, server, 2, "a b")

	standing(t, mustPublish(t, p, Request{Force: true}), report.Uploaded, 3, 2, p, false)
	b.serve("addr", "2026.11", november)
	standing(t, mustPublish(t, q, Request{}), report.UploadUnchanged, 3, 2, p, true)
	k.wantBelieved(t, server, 2, "a b")
	a.serve("addr", "2026.11", november)
	standing(t, mustPublish(t, p, Request{}), report.Uploaded, 4, 2, p, false)
	standing(t, mustPublish(t, q, Request{}), report.UploadUnchanged, 4, 2, p, false)
	k.wantBelieved(t, server, 4, "a b")
}

func TestASignerGoesOnFromNothingThatNobodySigned(t *testing.T) {
	for name, serves := range map[string]bool{"a host with data": true, "a host without data": false} {
		t.Run(name, func(t *testing.T) {
			server, k, h, thief := start(t), newKeys(t, 1, "a"), newHost(t), newHost(t)
			thief.serve("addr", "2026.12", map[string]string{"a": "evil"})
			thief.serve("more", "2026.12", map[string]string{"m": "evil"})
			mustPublish(t, newPublisher(t, server.Endpoint, thief, nil), Request{})
			if serves {
				h.serve("addr", "2026.10", map[string]string{"a": "good"})
			}
			p := newPublisher(t, server.Endpoint, h, k.signsWith(t, 0, time.Hour))
			mustPublish(t, p, Request{})
			c := look(t, server)
			number, _ := k.believed(t, server)
			if number > 0 && (c.files["addr/a"] == "evil" || c.files["more/m"] != "") {
				t.Errorf("signed: %v", c.files)
			}
			if serves && number != 2 {
				t.Errorf("followers believe generation %d, want 2", number)
			}
		})
	}
}

func TestARecordWithOtherFilesIsNotTheSame(t *testing.T) {
	h := newHost(t)
	own := h.serve("addr", "2026.10", map[string]string{"a": "1", "b": "2"})
	theirs := bucket.RecordOf(own)
	if !sameFiles(theirs, own) {
		t.Error("a record is not the same as itself")
	}
	for name, change := range map[string]func(*record.File){
		"path": func(f *record.File) { f.Path = "c" }, "content": func(f *record.File) { f.Object[0]++ }, "size": func(f *record.File) { f.Size++ },
	} {
		other := theirs
		other.Files = slices.Clone(theirs.Files)
		change(&other.Files[1])
		if sameFiles(other, own) {
			t.Errorf("a record with another %s is the same", name)
		}
	}
}

func TestANewTrustTextTravelsWithTheMirror(t *testing.T) {
	server, k, h := start(t), newKeys(t, 1, "a"), newHost(t)
	h.serve("addr", "2026.10", map[string]string{"a": "1"})
	mustPublish(t, newPublisher(t, server.Endpoint, h, k.signsWith(t, 0, time.Hour)), Request{})
	other := newKeys(t, 1, "b")
	next, err := k.chain.Next(trust.Change{Add: other.chain.Newest().Keys, Remove: k.chain.Newest().Keys})
	must(t, err)
	next, err = k.chain.SignedBy(next, k.private[0], other.private[0])
	must(t, err)
	k.chain, err = k.chain.Add(next)
	must(t, err)
	k.private = other.private
	mustPublish(t, newPublisher(t, server.Endpoint, h, k.signsWith(t, 0, time.Hour)), Request{})
	k.wantBelieved(t, server, 1, "b")
	c := look(t, server).current
	if c.Trust.Version != 2 || sha256.Sum256(file(t, server, "trust/2")) != c.Trust.SHA256 {
		t.Errorf("%+v", c.Trust)
	}
}

// The operator of one publisher made the next version. The others count by it before they
// have its file, and drop no signature that followers count.
func TestAPublisherWithAnOlderTrustFileCountsByTheNewerOne(t *testing.T) {
	server, old, files := start(t), newKeys(t, 2, "a", "b", "spare"), map[string]string{"a": "1"}
	a, b, d := newHost(t), newHost(t), newHost(t)
	p := newPublisher(t, server.Endpoint, a, old.signsWith(t, 0, time.Hour))
	q := newPublisher(t, server.Endpoint, b, old.signsWith(t, 1, time.Hour))
	added := newKeys(t, 1, "d")
	next, err := old.chain.Next(trust.Change{Add: added.chain.Newest().Keys, Remove: old.chain.Newest().Keys[:1]})
	must(t, err)
	next, err = old.chain.SignedBy(next, old.private[1:]...)
	must(t, err)
	k := keys{private: added.private}
	k.chain, err = old.chain.Add(next)
	must(t, err)
	r := newPublisher(t, server.Endpoint, d, k.signsWith(t, 0, time.Hour))
	for _, h := range []*host{a, b, d} {
		h.serve("addr", "2026.10", files)
	}
	mustPublish(t, r, Request{})
	for range 2 { // the second time finds nothing to do
		mustPublish(t, q, Request{})
		k.wantBelieved(t, server, 1, "b d")
	}
	if _, err := p.Upload(t.Context(), Request{}); err == nil || !strings.Contains(err.Error(), "key a is not in the trust text of mirror.example.net (version 2), which another publisher has put into the bucket: copy its trust file") {
		t.Errorf("a publisher without a key that counts: %v", err)
	}
	k.wantBelieved(t, server, 1, "b d")
}

func TestATrustTextWithoutAKeyIsPublishedAtOnce(t *testing.T) {
	server, k, h := start(t), newKeys(t, 1, "a", "stolen"), newHost(t)
	h.serve("addr", "2026.10", map[string]string{"a": "1"})
	mustPublish(t, newPublisher(t, server.Endpoint, h, k.signsWith(t, 0, time.Hour)), Request{})
	before := k
	k.next(t, trust.Change{Remove: k.chain.Newest().Keys[1:]})
	mustPublish(t, newPublisher(t, server.Endpoint, h, k.signsWith(t, 0, time.Hour)), Request{})
	if c := look(t, server).current; c.Trust.Version != 2 || sha256.Sum256(file(t, server, "trust/2")) != c.Trust.SHA256 {
		t.Errorf("followers are told of %+v", c.Trust)
	}
	mustPublish(t, newPublisher(t, server.Endpoint, h, before.signsWith(t, 0, time.Hour)), Request{Check: true})
	if c := look(t, server).current; c.Trust.Version != 2 {
		t.Errorf("a publisher with the older trust file took it back: %+v", c.Trust)
	}
}

func TestAPublisherWithAnotherFirstTrustTextSaysSo(t *testing.T) {
	server, k, h := start(t), newKeys(t, 1, "a", "lost"), newHost(t)
	h.serve("addr", "2026.10", map[string]string{"a": "1"})
	k.next(t, trust.Change{Threshold: 2})
	signer := k.signsWith(t, 0, time.Hour)
	mustPublish(t, newPublisher(t, server.Endpoint, h, signer), Request{})

	other := newKeys(t, 1, "a")
	h.serve("addr", "2026.11", map[string]string{"a": "2"})
	p := newPublisher(t, server.Endpoint, h, other.signsWith(t, 0, time.Hour))
	if _, err := p.Upload(inJob(t), Request{}); err == nil || !strings.Contains(err.Error(), "trust/1 in the bucket is another text") {
		t.Fatalf("publishing beside the trust texts of another root: %v", err)
	}
	server.Remove("mirror/trust/1")
	server.Remove("mirror/trust/2")
	mustPublish(t, p, Request{})
	other.wantBelieved(t, server, 3, "a") // 2 stayed without a statement
	if c := look(t, server).current; c.Trust.Version != 1 || sha256.Sum256(file(t, server, "trust/1")) != c.Trust.SHA256 {
		t.Errorf("followers with the new trust file are told of %+v", c.Trust)
	}
}

// next makes a further version of the trust text that all keys sign.
func (k *keys) next(t *testing.T, change trust.Change) {
	t.Helper()
	text, err := k.chain.Next(change)
	must(t, err)
	text, err = k.chain.SignedBy(text, k.private...)
	must(t, err)
	k.chain, err = k.chain.Add(text)
	must(t, err)
}

// two are publishers of one bucket, both of whose keys must sign.
type two struct {
	keys
	t      *testing.T
	server *buckettest.Server
	a, b   *host
	p, q   *Publisher
	orders orders // of a
}

func newTwo(t *testing.T) *two {
	w := &two{keys: newKeys(t, 2, "a", "b"), t: t, server: start(t), a: newHost(t), b: newHost(t), orders: orders{}}
	signs := w.signsWith(t, 0, time.Hour)
	w.p = newPublisher(t, w.server.Endpoint, w.a, func(c *Config) { signs(c); c.Order = w.orders.of })
	w.q = newPublisher(t, w.server.Endpoint, w.b, w.signsWith(t, 1, time.Hour))
	return w
}

// both publish a release.
func (w *two) both(release manifest.Release, content string) (served mirror.Record) {
	w.t.Helper()
	served = w.a.serve("addr", release, map[string]string{"a": content})
	w.b.serve("addr", release, map[string]string{"a": content})
	mustPublish(w.t, w.p, Request{})
	mustPublish(w.t, w.q, Request{})
	return served
}

// What one publisher destroyed stays for followers until the other one has signed.
func TestADestructionThatWaitsForSignaturesTakesNothing(t *testing.T) {
	w := newTwo(t)
	old := w.both("2026.10", "october")
	w.wantBelieved(t, w.server, 1, "a b")
	november := map[string]string{"a": "november"}
	w.a.serve("addr", "2026.11", november)
	w.orders.destroy(old)
	mustPublish(t, w.p, Request{})
	isThere := func() bool {
		return isInBucket(t, w.server, recordName(old)) && isInBucket(t, w.server, bucket.ObjectName(sum("october")))
	}
	w.wantBelieved(t, w.server, 1, "a b")
	if !isThere() {
		t.Error("followers mirror what was deleted")
	}
	if _, err := w.p.Upload(inJob(t), Request{Collect: true}); err == nil || !strings.Contains(err.Error(), "stays in the bucket until enough keys have signed generation 2") || !isThere() {
		t.Errorf("collecting: %v", err)
	}
	// Also where the list of generations is broken.
	w.a.serve("addr", "2026.12", november)
	mustPublish(t, w.p, Request{})
	w.server.Remove("mirror/" + bucket.GenerationName(2))
	age(t, w.server, 1000*time.Hour)
	if _, err := w.p.Upload(inJob(t), Request{Collect: true}); err == nil || !isThere() {
		t.Errorf("collecting behind a gap: %v", err)
	}
	w.server.Remove("mirror/" + bucket.ObjectName(sum("october")))
	if done, err := w.p.Verify(inJob(t), Verify{}); err != nil || done.Verification.Missing != 1 {
		t.Errorf("%+v, %v", done.Verification, err)
	}
	w.server.Remove("mirror/" + bucket.GenerationName(1))
	done, err := w.p.Verify(inJob(t), Verify{Repair: true})
	if err != nil || done.Verification.Left() != 1 || !strings.Contains(done.Verification.Damage[0].Error, "until enough keys have signed a newer one") {
		t.Errorf("%+v, %v", done.Verification, err)
	}
	w.b.serve("addr", "2026.12", november)
	w.q.cfg.Order = w.orders.of
	mustPublish(t, w.q, Request{})
	w.wantBelieved(t, w.server, 3, "a b")
	mustPublish(t, w.p, Request{Collect: true})
	if isInBucket(t, w.server, recordName(old)) {
		t.Error("what was destroyed stays")
	}
}

// A thief of one key must not end the epochs by the signature of the other publisher.
func TestAnEpochFarAheadIsNotSigned(t *testing.T) {
	w := newTwo(t)
	w.both("2026.10", "october")
	g := look(t, w.server).generation
	g.Number, g.Previous, g.Epoch, g.Publisher = 2, 1, bucket.MaxEpoch, "thief"
	w.server.Put("mirror/"+bucket.GenerationName(2), g.Text())
	signer, err := trust.NewSigner(w.private[0], w.chain, time.Hour)
	must(t, err)
	statement, err := signer.Sign("", 2, sha256.Sum256(g.Text()), time.Now())
	must(t, err)
	c := look(t, w.server).current
	c.Next = bucket.Next{Generation: 2, SHA256: sha256.Sum256(g.Text()), Statement: statement}
	w.server.Put("mirror/"+bucket.CurrentName, c.Text())
	mustPublish(t, w.q, Request{Check: true})
	w.wantBelieved(t, w.server, 1, "a b")
}

// The epoch in current.json is not signed: whoever can write the bucket raises it.
func TestAnEpochThatNobodySignedStopsNoPublisher(t *testing.T) {
	server, k, h, other := start(t), newKeys(t, 1, "a", "b"), newHost(t), newHost(t)
	p := newPublisher(t, server.Endpoint, h, k.signsWith(t, 0, time.Hour))
	h.serve("addr", "2026.10", map[string]string{"a": "1"})
	mustPublish(t, p, Request{})
	other.serve("addr", "2026.11", map[string]string{"a": "2"})
	mustPublish(t, newPublisher(t, server.Endpoint, other, k.signsWith(t, 1, time.Hour)), Request{})
	c := look(t, server).current
	c.Epoch = 7
	server.Put("mirror/"+bucket.CurrentName, c.Text())
	h.serve("addr", "2026.12", map[string]string{"a": "3"})
	if done := mustPublish(t, p, Request{}); done.Result != report.Uploaded || done.Superseded || done.Epoch != 0 {
		t.Errorf("%+v", done)
	}
	k.wantBelieved(t, server, 3, "a")
}

func TestAVerificationLooksAtTrustTexts(t *testing.T) {
	server, k, h := start(t), newKeys(t, 1, "a", "lost", "b"), newHost(t)
	h.serve("addr", "2026.10", map[string]string{"a": "1"})
	k.next(t, trust.Change{Remove: k.chain.Newest().Keys[1:2]})
	p := newPublisher(t, server.Endpoint, h, k.signsWith(t, 0, time.Hour))
	mustPublish(t, p, Request{})
	stranger := newKeys(t, 1, "stranger")
	for name, row := range map[string]struct {
		change    func()
		isMended  bool
		wantError string
	}{
		"missing": {func() { server.Remove("mirror/trust/2") }, true, "it is missing"},
		"damaged": {func() { server.Put("mirror/trust/2", []byte("noise")) }, true, "another text than in sign.trust_file"},
		"another": {func() { server.Put("mirror/trust/2", stranger.chain[0].Bytes()) }, false, "another text than in sign.trust_file"},
	} {
		row.change()
		done, err := p.Verify(inJob(t), Verify{Repair: true})
		must(t, err)
		check := done.Verification
		if len(check.Damage) != 1 || check.Damage[0].Name != "trust/2" || check.Damage[0].Repaired != row.isMended || !strings.Contains(check.Damage[0].Error, row.wantError) {
			t.Errorf("%s: %+v", name, check)
		}
		if isMended := bytes.Equal(file(t, server, "trust/2"), k.chain[1].Bytes()); isMended != row.isMended {
			t.Errorf("%s: mended is %t", name, isMended)
		}
		server.Put("mirror/trust/2", k.chain[1].Bytes())
	}
}

// Somebody put into the bucket what this host serves: it is signed, but it is not of the bucket.
func TestAPublisherGoesOnFromNothingThatAHostServes(t *testing.T) {
	server, k, h := start(t), newKeys(t, 1, "a"), newHost(t)
	h.serve("addr", "2026.10", map[string]string{"a": "1"})
	p := newPublisher(t, server.Endpoint, h, k.signsWith(t, 0, time.Hour))
	mustPublish(t, p, Request{})
	c, g := look(t, server).current, look(t, server).generation
	if g.Count != bucket.CountBucket {
		t.Errorf("%+v", g)
	}
	more := g.Manifests[0]
	more.Name = "more"
	g.Number, g.Count, g.Manifests = 470_371, bucket.CountHost, append(g.Manifests, more)
	server.Put("mirror/"+bucket.GenerationName(g.Number), g.Text())
	signer, err := trust.NewSigner(k.private[0], k.chain, time.Hour)
	must(t, err)
	c.Generation, c.SHA256 = g.Number, sha256.Sum256(g.Text())
	c.Statement, err = signer.Sign("", g.Number, c.SHA256, time.Now())
	must(t, err)
	server.Put("mirror/"+bucket.CurrentName, c.Text())
	mustPublish(t, p, Request{Check: true})
	if now := look(t, server).generation; now.Count != bucket.CountBucket || len(now.Manifests) != 1 || now.Number < 470_371 {
		t.Errorf("%+v", now)
	}
}
