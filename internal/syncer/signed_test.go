package syncer_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"syncd/internal/clients/transport"
	"syncd/internal/disk/fsops"
	"syncd/internal/downstream/believer"
	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/bucket/buckettest"
	"syncd/internal/downstream/bundle"
	"syncd/internal/downstream/follower"
	"syncd/internal/downstream/trust"
	"syncd/internal/fetcher"
	"syncd/internal/manifest"
	"syncd/internal/manifest/refusal"
	"syncd/internal/report"
	"syncd/internal/store"
	"syncd/internal/syncer"
)

const signedOrigin = "mirror.example.net"

// origin is a publisher with two keys that must sign, a spare one, and what its mirror has.
type origin struct {
	testing.TB
	alice, bob, carol, mallory *trust.PrivateKey
	chain                      trust.Chain
	texts                      map[string][]byte // of the mirror, by name
	now                        time.Time
}

func privateKey(t testing.TB, name string) *trust.PrivateKey {
	t.Helper()
	secret, _, err := trust.GenerateKey(name)
	must(t, err)
	key, err := trust.ParsePrivateKey(secret)
	must(t, err)
	return key
}

func newOrigin(t testing.TB) *origin {
	o := &origin{TB: t, alice: privateKey(t, "alice"), bob: privateKey(t, "bob"), carol: privateKey(t, "carol"), mallory: privateKey(t, "mallory"), texts: map[string][]byte{}}
	o.now = time.Now().UTC().Truncate(time.Second)
	text, err := trust.New(signedOrigin, 2, o.now.AddDate(1, 0, 0), o.alice.Public(), o.bob.Public(), o.carol.Public())
	must(t, err)
	o.chain = trust.Chain{text}
	return o
}

// clone is the same origin, whose texts an attacker changes.
func (o *origin) clone(t testing.TB) *origin {
	other := *o
	other.TB, other.texts = t, maps.Clone(o.texts)
	return &other
}

// offer puts a generation into the mirror, signed by two keys.
func (o *origin) offer(number int, content files) {
	o.offerOf(bucket.Generation{Number: number, Publisher: "test", Version: "test"}, content)
}

func (o *origin) offerOf(g bucket.Generation, content files) {
	buckettest.Write(g, func(name string, text []byte) { o.texts[name] = text }, of(manifest.Release(fmt.Sprintf("2026.%02d", g.Number)), content))
	o.statement(nil, o.alice, o.bob)
}

// current changes current.json.
func (o *origin) current(change func(*bucket.Current)) {
	o.Helper()
	c, err := bucket.ParseCurrent(o.texts[bucket.CurrentName])
	must(o, err)
	change(&c)
	o.texts[bucket.CurrentName] = c.Text()
}

// statement puts a statement about the generation into current.json.
func (o *origin) statement(change func(*trust.Statement), keys ...*trust.PrivateKey) {
	o.Helper()
	newest := o.chain.Newest()
	o.current(func(c *bucket.Current) {
		s := trust.Statement{Origin: signedOrigin, Generation: c.Generation, SHA256: c.SHA256, Issued: o.now, Expires: o.now.Add(48 * time.Hour)}
		if change != nil {
			change(&s)
		}
		text, err := s.Sign(keys...)
		must(o, err)
		c.Statement, c.Trust = string(text), bucket.TrustText{Version: newest.Version, SHA256: sha256.Sum256(newest.Bytes())}
	})
	for _, text := range o.chain {
		o.texts[bucket.TrustName(text.Version)] = text.Bytes()
	}
}

// signed changes the text of the statement.
func (o *origin) signed(change func(text string) string) {
	o.Helper()
	o.current(func(c *bucket.Current) { c.Statement = change(c.Statement) })
}

// generation changes the text of the newest generation; current.json names what it is then.
func (o *origin) generation(change func(text string) string) {
	o.Helper()
	o.current(func(c *bucket.Current) {
		name := bucket.GenerationName(c.Generation)
		o.texts[name] = []byte(change(string(o.texts[name])))
		c.SHA256 = sha256.Sum256(o.texts[name])
	})
}

// below changes the only new text or content in a folder.
func (o *origin) below(folder, has string, change func(text string) string) {
	o.Helper()
	for name, text := range o.texts {
		if strings.HasPrefix(name, folder) && strings.Contains(string(text), has) {
			o.texts[name] = []byte(change(string(text)))
			return
		}
	}
	o.Fatalf("nothing in %s has %q", folder, has)
}

// trust makes the next version of the trust text, with signatures of keys.
func (o *origin) next(change trust.Change, keys ...*trust.PrivateKey) trust.Text {
	o.Helper()
	next, err := o.chain.Next(change)
	must(o, err)
	next, err = o.chain.SignedBy(next, keys...)
	must(o, err)
	return next
}

// rotate replaces alice and bob by carol and mallory, as the publishers want it.
func (o *origin) rotate() {
	o.Helper()
	change := trust.Change{Add: []trust.Key{o.mallory.Public()}, Remove: []trust.Key{o.alice.Public(), o.bob.Public()}}
	longer, err := o.chain.Add(o.next(change, o.alice, o.bob, o.carol, o.mallory))
	must(o, err)
	o.chain = longer
	o.statement(nil, o.carol, o.mallory)
}

// carriers bring the texts of a mirror to a follower. One returns nil when it has refused
// them itself.
var carriers = map[string]func(t *testing.T, texts map[string][]byte) *transport.Client{
	"HTTP": func(t *testing.T, texts map[string][]byte) *transport.Client { return overHTTP(t, "/-/mirror/", texts) },
	"bucket": func(t *testing.T, texts map[string][]byte) *transport.Client {
		return overHTTP(t, "/refdata/mirror/", texts)
	},
	"bundle": inBundle,
}

var patience = transport.Retry{InitialInterval: time.Millisecond, MaxInterval: 5 * time.Millisecond, MaxElapsed: time.Second}

func overHTTP(t *testing.T, below string, texts map[string][]byte) *transport.Client {
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		text, found := texts[strings.TrimPrefix(r.URL.Path, below)]
		if !found {
			http.NotFound(rw, r)
			return
		}
		if slow := string(texts["slow"]); slow != "" && strings.Contains(r.URL.Path, slow) {
			rw.Header().Set("Content-Length", fmt.Sprint(len(text)))
			_, _ = rw.Write(text[:1])
			_ = http.NewResponseController(rw).Flush()
			<-r.Context().Done()
			return
		}
		rw.Header().Set("ETag", fmt.Sprintf(`"%x"`, sha256.Sum256(text)))
		http.ServeContent(rw, r, "", time.Time{}, bytes.NewReader(text))
	}))
	t.Cleanup(server.Close)
	stall := time.Minute
	if texts["slow"] != nil {
		stall = 50 * time.Millisecond
	}
	client, err := transport.New(transport.Config{Base: parseURL(t, server.URL+below), Retry: patience, StallTimeout: stall})
	must(t, err)
	return client
}

func inBundle(t *testing.T, texts map[string][]byte) *transport.Client {
	if texts["slow"] != nil {
		return nil // nobody between can slow a disk down
	}
	current, err := bucket.ParseCurrent(texts[bucket.CurrentName])
	if err != nil {
		return nil // nothing can be planned
	}
	order := []string{bucket.CurrentName, bucket.GenerationName(current.Generation)}
	needs := string(texts[order[1]])
	for _, folder := range []string{bucket.Trust, bucket.Records, bucket.Objects} {
		for _, name := range slices.Sorted(maps.Keys(texts)) {
			_, id, _ := strings.Cut(strings.TrimSuffix(name, ".json"), "-") // the revision of a record
			if strings.HasPrefix(name, bucket.Objects) {
				id = path.Base(name)
			}
			if strings.HasPrefix(name, folder) && strings.Contains(needs, id) {
				order = append(order, name)
				needs += string(texts[name])
			}
		}
	}
	var members []bundle.Member
	for _, name := range order {
		text := texts[name]
		members = append(members, bundle.Member{Name: name, Size: int64(len(text)), SHA256: sha256.Sum256(text), Open: func() (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(text)), nil
		}})
	}
	plan, err := bundle.NewPlan(members, bundle.Layout{Generation: current.Generation})
	must(t, err)
	var volume bytes.Buffer
	if plan.Write(t.Context(), func(_ int, write func(io.Writer) error) error { return write(&volume) }) != nil {
		return nil
	}
	opened, err := bundle.Open(t.Context(), []bundle.File{{Name: "bundle", Size: int64(volume.Len()), ReaderAt: bytes.NewReader(volume.Bytes())}}, bundle.Texts)
	if refusal.ReasonOf(err) != "" {
		t.Log(err)
		return nil
	}
	must(t, err)
	client, err := transport.New(transport.Config{Base: bundle.Base(), Carrier: opened, Retry: patience})
	must(t, err)
	return client
}

// memory keeps what was believed.
type memory struct{ known store.Belief }

func (m *memory) Belief() (store.Belief, error)         { return m.known, nil }
func (m *memory) SetBelief(believed store.Belief) error { m.known = believed; return nil }

// believes makes the world follow a mirror with a trust file.
func (w *world) believes(client *transport.Client, file trust.Chain, known *memory, now func() time.Time) {
	w.Helper()
	b, err := believer.New(file, known, now)
	must(w, err)
	c := follower.New(client)
	c.Believe(b, believer.Bucket)
	w.clients = append(w.clients, c)
	w.cfg.Provider, w.cfg.Bucket = nil, c
	w.cfg.Fetcher = fetcher.New(c, w.cfg.Mirror.Objects.Partial(), fetcher.Config{Files: 4, Segments: 4})
	w.syncer = syncer.New(w.cfg, w.progress)
}

// attack is what a row of the table does to a mirror that a follower knows.
type attack struct {
	change func(o *origin)
	want   refusal.Reason // "" is a failure that another attempt may mend
	at     time.Duration  // later
	fresh  bool           // the host has believed nothing yet
}

func replaced(old, with string) func(string) string {
	return func(text string) string { return strings.Replace(text, old, with, 1) }
}

func grown(text string) string { return text + strings.Repeat(" ", 5<<20) }

// attacks are those of The Update Framework, by their names there, and what its conformance
// suite tries. The follower holds generation 9; the mirror offers 10 after the change.
var attacks = map[string]attack{
	"arbitrary software: nothing is signed":                    {func(o *origin) { o.current(func(c *bucket.Current) { c.Statement = "" }) }, refusal.Unsigned, 0, false},
	"arbitrary software: a statement without signatures":       {func(o *origin) { o.statement(nil) }, refusal.Unsigned, 0, false},
	"arbitrary software: a stranger's keys":                    {func(o *origin) { o.statement(nil, o.mallory) }, refusal.Unsigned, 0, false},
	"arbitrary software: a stranger's key with a trusted name": {func(o *origin) { o.statement(nil, privateKey(o, "alice"), privateKey(o, "bob")) }, refusal.Unsigned, 0, false},
	"arbitrary software: the number is changed":                {func(o *origin) { o.signed(replaced("generation 10", "generation 11")) }, refusal.BadSignature, 0, false},
	"arbitrary software: the digest is changed":                {func(o *origin) { o.signed(replaced("sha256 ", "sha256 00")); o.signed(cutDigest) }, refusal.BadSignature, 0, false},
	"arbitrary software: the end is changed":                   {func(o *origin) { o.signed(replaced("expires 20", "expires 21")) }, refusal.BadSignature, 0, false},
	"arbitrary software: a generation is replaced":             {func(o *origin) { o.below(bucket.Generations, `"generation": 10`, replaced(`"test"`, `"evil"`)) }, refusal.HashMismatch, 0, false},
	"arbitrary software: a generation and its digest":          {func(o *origin) { o.generation(replaced(`"test"`, `"evil"`)) }, refusal.BadSignature, 0, false},
	"arbitrary software: a record is replaced":                 {func(o *origin) { o.below(bucket.Records, "2026.10", replaced("releases.example", "releases.evil---")) }, refusal.HashMismatch, 0, false},
	"arbitrary software: a content is replaced":                {func(o *origin) { o.below(bucket.Objects, "october", replaced("october", "attacks")) }, refusal.HashMismatch, 0, false},
	"arbitrary software: records without a digest are signed":  {func(o *origin) { o.generation(withoutRecordDigest); o.statement(nil, o.alice, o.bob) }, refusal.Unsigned, 0, false},
	"threshold: one of two keys":                               {func(o *origin) { o.statement(nil, o.alice) }, refusal.Unsigned, 0, false},
	"threshold: one key twice":                                 {func(o *origin) { o.statement(nil, o.alice); o.signed(lastLineTwice) }, refusal.Unsigned, 0, false},
	"threshold: one key and a stranger":                        {func(o *origin) { o.statement(nil, o.alice, o.mallory) }, refusal.Unsigned, 0, false},
	"threshold: one key and a wrong signature of another":      {func(o *origin) { o.signed(breakLastSignature) }, refusal.BadSignature, 0, false},
	"threshold: one key and one of its signatures renamed":     {func(o *origin) { o.statement(nil, o.alice); o.signed(aliceAsBob(o)) }, refusal.BadSignature, 0, false},
	"key compromise: a key that was removed":                   {func(o *origin) { o.rotate(); o.statement(nil, o.alice, o.bob) }, refusal.Unsigned, 0, false},
	"key compromise: a removed key and a trusted one":          {func(o *origin) { o.rotate(); o.statement(nil, o.alice, o.carol) }, refusal.Unsigned, 0, false},
	"key compromise: new keys signed by one old key": {func(o *origin) {
		o.chain = append(o.chain, o.next(evilKeys(o), o.alice, o.mallory))
		o.statement(nil, o.mallory)
	}, refusal.BadTrust, 0, false},
	"key compromise: new keys signed by themselves": {func(o *origin) {
		o.chain = append(o.chain, o.next(evilKeys(o), o.mallory))
		o.statement(nil, o.mallory)
	}, refusal.BadTrust, 0, false},
	"key compromise: a lower threshold signed by one key": {func(o *origin) {
		o.chain = append(o.chain, o.next(trust.Change{Threshold: 1}, o.alice))
		o.statement(nil, o.alice)
	}, refusal.BadTrust, 0, false},
	"key compromise: a version that lacks its own keys": {func(o *origin) {
		o.chain = append(o.chain, o.next(evilKeys(o), o.alice, o.bob))
		o.statement(nil, o.mallory)
	}, refusal.BadTrust, 0, false},
	"key id games: one key under two names": {func(o *origin) { o.texts["trust/2"] = sameKeyTwice(o); o.names(2) }, refusal.BadTrust, 0, false},
	"key id games: the id of a key and other bytes": {func(o *origin) {
		o.statement(nil, o.alice)
		o.signed(func(s string) string { return s + "— bob AAAAAAAAAAAA\n" })
	}, refusal.Unsigned, 0, false},
	"rollback: an older mirror, still signed":     {func(o *origin) { o.texts[bucket.CurrentName] = o.texts["older"] }, refusal.UpstreamRollback, 0, false},
	"rollback: an older generation, signed today": {func(o *origin) { o.current(namesOlder(o)); o.statement(nil, o.alice, o.bob) }, refusal.UpstreamRollback, 0, false},
	"rollback: another text with the same number": {func(o *origin) {
		o.offerOf(bucket.Generation{Number: 9, Publisher: "other", Version: "test"}, october())
	}, refusal.UpstreamRollback, 0, false},
	"rollback: an older statement in a new current.json": {func(o *origin) { o.current(func(c *bucket.Current) { c.Statement = olderStatement(o) }) }, refusal.UpstreamRollback, 0, false},
	"rollback: the trust text before": {func(o *origin) {
		o.chain = o.chain[:1]
		o.rotate()
		o.chain = o.chain[:1]
		o.statement(nil, o.carol, o.mallory)
	}, refusal.Unsigned, 0, false},
	"freeze: a statement that has expired":                       {func(*origin) {}, refusal.UpstreamFrozen, 50 * time.Hour, false},
	"freeze: a new host and an expired statement":                {func(*origin) {}, refusal.UpstreamFrozen, 50 * time.Hour, true},
	"freeze: the known answer for ever":                          {func(o *origin) { o.texts[bucket.CurrentName] = o.texts["known"] }, refusal.UpstreamFrozen, 50 * time.Hour, false},
	"freeze: a trust text that has expired":                      {func(*origin) {}, refusal.BadTrust, 366 * 24 * time.Hour, false},
	"freeze: an end before the beginning":                        {func(o *origin) { o.signed(swapTimes) }, refusal.BadSignature, 0, false},
	"version skips: version 3 in the place of 2":                 {func(o *origin) { o.rotate(); o.texts["trust/2"] = third(o); o.names(3) }, refusal.BadTrust, 0, false},
	"version skips: version 1 in the place of 2":                 {func(o *origin) { o.rotate(); o.texts["trust/2"] = o.texts["trust/1"] }, refusal.BadTrust, 0, false},
	"version skips: a version that is not there":                 {func(o *origin) { o.rotate(); delete(o.texts, "trust/2") }, refusal.BadTrust, 0, false},
	"version skips: a million versions":                          {func(o *origin) { o.names(1_000_000) }, refusal.BadTrust, 0, false},
	"version skips: another digest than the text":                {func(o *origin) { o.rotate(); o.current(func(c *bucket.Current) { c.Trust.SHA256[0]++ }) }, refusal.BadTrust, 0, false},
	"mix-and-match: a new generation beside the known statement": {func(o *origin) { o.current(func(c *bucket.Current) { c.Statement = knownStatement(o) }) }, refusal.BadSignature, 0, false},
	"mix-and-match: the record of another revision":              {func(o *origin) { o.mixRecords() }, refusal.HashMismatch, 0, false},
	"mix-and-match: another number in the signed text": {func(o *origin) {
		o.generation(replaced(`"generation": 10`, `"generation": 11`))
		o.statement(nil, o.alice, o.bob)
	}, refusal.BadShape, 0, false},
	"wrong software: another origin with the same keys": {func(o *origin) {
		o.statement(func(s *trust.Statement) { s.Origin = "other.example.net" }, o.alice, o.bob)
	}, refusal.WrongOrigin, 0, false},
	"wrong software: another origin with other keys": {func(o *origin) { o.statement(func(s *trust.Statement) { s.Origin = "evil.example.net" }, o.mallory) }, refusal.WrongOrigin, 0, false},
	"wrong software: a trust text of another origin": {func(o *origin) { o.texts["trust/2"] = ofOther(o); o.names(2) }, refusal.BadTrust, 0, false},
	"extraneous dependencies: a further manifest":    {func(o *origin) { o.generation(replaced(`"manifests": [`, `"manifests": [{"name":"aaa"},`)) }, refusal.BadSignature, 0, false},
	"extraneous dependencies: a further file":        {func(o *origin) { o.below(bucket.Records, "2026.10", withAFurtherFile) }, refusal.HashMismatch, 0, false},
	"extraneous dependencies: an order to destroy": {func(o *origin) {
		o.generation(replaced(`"version"`, `"destruction": {"data": {"seconds": 1}}, "version"`))
	}, refusal.BadSignature, 0, false},
	"endless data: current.json": {func(o *origin) { o.texts[bucket.CurrentName] = []byte(grown(string(o.texts[bucket.CurrentName]))) }, refusal.TooLarge, 0, false},
	"endless data: a generation": {func(o *origin) { o.below(bucket.Generations, `"generation": 10`, grown) }, refusal.TooLarge, 0, false},
	"endless data: a trust text": {func(o *origin) { o.rotate(); o.texts["trust/2"] = []byte(grown(string(o.texts["trust/2"]))) }, refusal.TooLarge, 0, false},
	"endless data: a record":     {func(o *origin) { o.below(bucket.Records, "2026.10", grown) }, refusal.TooLarge, 0, false},
	"endless data: a content":    {func(o *origin) { o.below(bucket.Objects, "october", grown) }, refusal.TooLarge, 0, false},
	"endless data: a statement": {func(o *origin) {
		o.signed(func(s string) string { return s + strings.Repeat("— x AAAAAAAAAAAA\n", 1000) })
	}, refusal.BadShape, 0, false},
	"endless data: many signatures": {func(o *origin) {
		o.signed(func(s string) string { return s + strings.Repeat("— x AAAAAAAAAAAA\n", 200) })
	}, refusal.BadSignature, 0, false},
	"slow retrieval: current.json":                            {func(o *origin) { o.texts["slow"] = []byte(bucket.CurrentName) }, "", 0, false},
	"slow retrieval: a record":                                {func(o *origin) { o.texts["slow"] = []byte(bucket.Records) }, "", 0, false},
	"slow retrieval: a content":                               {func(o *origin) { o.texts["slow"] = []byte(bucket.Objects) }, "", 0, false},
	"malformed: no JSON":                                      {func(o *origin) { o.texts[bucket.CurrentName] = []byte("<html>") }, refusal.BadShape, 0, false},
	"malformed: another form":                                 {func(o *origin) { o.texts[bucket.CurrentName] = []byte(`{"syncd_bucket": 2}`) }, refusal.BadShape, 0, false},
	"malformed: nested without end":                           {func(o *origin) { o.texts[bucket.CurrentName] = []byte(strings.Repeat("[", 100_000)) }, refusal.BadShape, 0, false},
	"malformed: carriage returns":                             {func(o *origin) { o.signed(func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }) }, refusal.BadSignature, 0, false},
	"malformed: a further line":                               {func(o *origin) { o.signed(replaced("\nexpires", "\ncomment x\nexpires")) }, refusal.BadSignature, 0, false},
	"malformed: a number with a zero in front":                {func(o *origin) { o.signed(replaced("generation 10", "generation 010")) }, refusal.BadSignature, 0, false},
	"malformed: a time of another zone":                       {func(o *origin) { o.signed(replaced("Z\nexpires", "+00:00\nexpires")) }, refusal.BadSignature, 0, false},
	"malformed: a statement that is cut":                      {func(o *origin) { o.signed(func(s string) string { return s[:len(s)/2] }) }, refusal.BadSignature, 0, false},
	"malformed: another kind of text, rightly signed":         {func(o *origin) { o.signed(func(string) string { return string(o.chain[0].Bytes()) }) }, refusal.BadSignature, 0, false},
	"malformed: bytes that are no text":                       {func(o *origin) { o.rotate(); o.texts["trust/2"] = []byte("syncd-trust/v1\n\xff\xfe\n") }, refusal.BadTrust, 0, false},
	"malformed: a trust text with its lines in another order": {func(o *origin) { o.rotate(); o.below(bucket.Trust, "version 2", swapLines("origin", "version")) }, refusal.BadTrust, 0, false},
}

func TestAttacksOnSignedMirrors(t *testing.T) {
	if len(attacks) < 40 {
		t.Errorf("%d attacks", len(attacks))
	}
	for name, carrier := range carriers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, o := start(t, "data"), newOrigin(t)
			w.cfg.Source = "https://mirror.example.net/"
			known, now := &memory{}, atomic.Pointer[time.Time]{}
			clock := func() time.Time { return *now.Load() }
			now.Store(&o.now)
			o.offer(8, files{"a.dat": "august"})
			o.texts["older"] = o.texts[bucket.CurrentName]
			o.offer(9, files{"a.dat": "september"})
			o.texts["known"] = o.texts[bucket.CurrentName]
			first := carrier(t, o.texts)
			if first == nil {
				t.Fatal("what nobody attacked is refused")
			}
			w.believes(first, o.chain, known, clock)
			w.expect(w.poll(), "data", report.Updated)
			before, parent := known.known, w.TB
			good := o.clone(t)
			good.offer(10, files{"a.dat": "october"})
			for _, attackName := range slices.Sorted(maps.Keys(attacks)) {
				a := attacks[attackName]
				t.Run(attackName, func(t *testing.T) {
					w.TB = t
					defer func() { w.TB = parent }()
					bad := good.clone(t)
					a.change(bad)
					client := carrier(t, bad.texts)
					if client == nil {
						return // refused before anything is asked
					}
					memory := &memory{}
					if !a.fresh {
						memory.known = before
					}
					later := o.now.Add(a.at)
					now.Store(&later)
					w.believes(client, o.chain, memory, clock)
					if a.want == "" {
						tree := w.tree("data")
						w.expect(w.demand("data"), "data", report.Failed)
						w.serves("data", tree)
						return
					}
					w.refuses(a.want)
					if after := memory.known; after.Generation != 0 && after.Generation != 9 && a.want != refusal.HashMismatch && a.want != refusal.TooLarge {
						t.Errorf("generation %d is believed after a refusal", after.Generation)
					}
				})
			}
			now.Store(&o.now)
			w.believes(carrier(t, good.texts), o.chain, known, clock)
			w.expect(w.poll(), "data", report.Updated)
			w.serves("data", files{"a.dat": "october"})
		})
	}
}

// names makes current.json name a version of the trust text.
func (o *origin) names(version int) {
	o.current(func(c *bucket.Current) {
		c.Trust = bucket.TrustText{Version: version, SHA256: sha256.Sum256(o.texts[bucket.TrustName(version)])}
	})
}

// mixRecords puts the record of the revision before in the place of the new one.
func (o *origin) mixRecords() {
	var old, now string
	for name := range o.texts {
		switch {
		case strings.HasPrefix(name, bucket.Records) && strings.Contains(name, "2026.09"):
			old = name
		case strings.HasPrefix(name, bucket.Records) && strings.Contains(name, "2026.10"):
			now = name
		}
	}
	o.texts[now] = o.texts[old]
}

func statementIn(o *origin, text string) string {
	o.Helper()
	c, err := bucket.ParseCurrent(o.texts[text])
	must(o, err)
	return c.Statement
}

func olderStatement(o *origin) string { return statementIn(o, "older") }
func knownStatement(o *origin) string { return statementIn(o, "known") }

// namesOlder makes current.json name the generation before.
func namesOlder(o *origin) func(*bucket.Current) {
	older, err := bucket.ParseCurrent(o.texts["older"])
	must(o, err)
	return func(c *bucket.Current) { c.Generation, c.SHA256 = older.Generation, older.SHA256 }
}

// withAFurtherFile adds a file to the end of a record.
func withAFurtherFile(text string) string {
	i := strings.LastIndex(text, "]")
	return text[:i] + `,{"path":"evil.dat","size":1}` + text[i:]
}

// cutDigest makes a digest that grew by two digits as long as before.
func cutDigest(text string) string {
	head, rest, _ := strings.Cut(text, "\nissued")
	return head[:len(head)-2] + "\nissued" + rest
}

func withoutRecordDigest(text string) string {
	var kept []string
	for line := range strings.Lines(text) {
		if !strings.Contains(line, `"record_sha256"`) {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}

// lastLineTwice repeats a signature.
func lastLineTwice(text string) string {
	return text + text[strings.LastIndex(strings.TrimSuffix(text, "\n"), "\n")+1:]
}

// breakLastSignature changes bytes of a signature that are not its key's id.
func breakLastSignature(text string) string {
	body := strings.TrimSuffix(text, "\n")
	i := len(body) - 20
	with := byte('A')
	if body[i] == with {
		with = 'B'
	}
	return body[:i] + string(with) + body[i+1:] + "\n"
}

// aliceAsBob adds alice's signature with the name and the id of bob's key.
func aliceAsBob(o *origin) func(string) string {
	return func(text string) string {
		both, err := trust.Sign([]byte(text[:strings.Index(text, "\n\n")+1]), o.alice, o.bob)
		must(o, err)
		lines := strings.Split(strings.TrimSuffix(string(both), "\n"), "\n")
		alice, bob := lines[len(lines)-2], lines[len(lines)-1]
		const id = len("— bob ") + 5 // and a part of the id, which is 32 bits
		return text + bob[:id+1] + alice[len("— alice ")+6:] + "\n"
	}
}

func evilKeys(o *origin) trust.Change {
	return trust.Change{Add: []trust.Key{o.mallory.Public()}, Remove: []trust.Key{o.alice.Public(), o.bob.Public(), o.carol.Public()}, Threshold: 1}
}

// sameKeyTwice is a version in which one key has two names.
func sameKeyTwice(o *origin) []byte {
	text := string(o.next(trust.Change{Add: []trust.Key{o.mallory.Public()}}, o.alice, o.bob).Bytes())
	return []byte(strings.Replace(text, "key mallory+", "key nick+", 1))
}

// third is the version after the newest.
func third(o *origin) []byte {
	return o.next(trust.Change{Threshold: 1}, o.carol, o.mallory).Bytes()
}

// ofOther is the second version of another origin with the same keys.
func ofOther(o *origin) []byte {
	first, err := trust.New("other.example.net", 2, o.now.AddDate(1, 0, 0), o.alice.Public(), o.bob.Public(), o.carol.Public())
	must(o, err)
	other := trust.Chain{first}
	next, err := other.Next(trust.Change{Threshold: 1})
	must(o, err)
	next, err = other.SignedBy(next, o.alice, o.bob)
	must(o, err)
	return next.Bytes()
}

// swapTimes lets a statement end before it begins.
func swapTimes(text string) string {
	return strings.Replace(text, "expires 20", "expires 19", 1)
}

func swapLines(a, b string) func(string) string {
	return func(text string) string {
		lines := strings.Split(text, "\n")
		i := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, a+" ") })
		j := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, b+" ") })
		lines[i], lines[j] = lines[j], lines[i]
		return strings.Join(lines, "\n")
	}
}

// Each host was off while all keys were replaced eight times. Nobody touched its trust file.
func TestFiftyFollowersFindTheirWayThroughRotations(t *testing.T) {
	o := newOrigin(t)
	o.offer(9, files{"a.dat": "september"})
	file := o.chain
	type host struct {
		dir   *fsops.Dir
		state *store.Store
	}
	hosts := make([]host, 50)
	open := func(h *host) *follower.Client {
		var err error
		h.state, _, err = store.Open(h.dir, "syncd.db", time.Minute)
		must(t, err)
		b, err := believer.New(file, h.state, time.Now)
		must(t, err)
		client := follower.New(overHTTP(t, "/", o.texts))
		client.Believe(b, believer.Serving)
		return client
	}
	for i := range hosts {
		var err error
		hosts[i].dir, err = fsops.OpenDir(t.TempDir())
		must(t, err)
		g, err := open(&hosts[i]).Generation(t.Context())
		if err != nil || g.Number != 9 {
			t.Fatalf("host %d: generation %d, %v", i, g.Number, err)
		}
		must(t, hosts[i].state.Close())
	}
	stolen, before := o.clone(t), o.texts[bucket.CurrentName]
	signers := []*trust.PrivateKey{o.alice, o.bob}
	for i := range 8 {
		next := []*trust.PrivateKey{privateKey(t, fmt.Sprintf("x%d", i)), privateKey(t, fmt.Sprintf("y%d", i))}
		change := trust.Change{Add: []trust.Key{next[0].Public(), next[1].Public()}, Remove: o.chain.Newest().Keys}
		longer, err := o.chain.Add(o.next(change, append(signers, next...)...))
		must(t, err)
		o.chain, signers = longer, next
	}
	o.offer(10, files{"a.dat": "october"})
	o.statement(nil, signers...)
	for i := range hosts {
		g, err := open(&hosts[i]).Generation(t.Context())
		if err != nil || g.Number != 10 {
			t.Fatalf("host %d: generation %d, %v", i, g.Number, err)
		}
		if known, err := hosts[i].state.Belief(); err != nil || known.Trust != 9 || known.Generation != 10 {
			t.Errorf("host %d: %+v, %v", i, known, err)
		}
		must(t, hosts[i].state.Close())
	}
	now := o.texts[bucket.CurrentName]
	stolen.offer(11, files{"a.dat": "attacks"}) // by keys that left
	for name, text := range stolen.texts {
		if _, found := o.texts[name]; !found || name == bucket.CurrentName {
			o.texts[name] = text
		}
	}
	for i := range hosts {
		for _, text := range [][]byte{o.texts[bucket.CurrentName], before} {
			o.texts[bucket.CurrentName] = text
			if g, err := open(&hosts[i]).Generation(t.Context()); refusal.ReasonOf(err) != refusal.Unsigned {
				t.Errorf("host %d takes generation %d of a key that left: %v", i, g.Number, err)
			}
			must(t, hosts[i].state.Close())
		}
		o.texts[bucket.CurrentName] = stolen.texts[bucket.CurrentName]
	}
	o.texts[bucket.CurrentName] = now
	for i := range hosts {
		if g, err := open(&hosts[i]).Generation(t.Context()); err != nil || g.Number != 10 {
			t.Errorf("host %d: generation %d, %v", i, g.Number, err)
		}
		must(t, hosts[i].state.Close())
	}
}
