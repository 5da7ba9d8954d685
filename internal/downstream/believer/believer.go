package believer

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/keyfile"
	"syncd/internal/downstream/trust"
	"syncd/internal/manifest/refusal"
	"syncd/internal/store"
)

// Memory keeps what was believed, beyond the end of the process. Safe for concurrent use.
type Memory interface {
	Belief() (store.Belief, error)
	SetBelief(store.Belief) error
}

// Fetch reads a version of the trust text from the mirror.
type Fetch func(ctx context.Context, version int) ([]byte, error)

// Count is a counting of generations: a number is older than another one of the same count
// only. A publisher counts what it writes into its bucket apart from what it serves and
// exports. Of the texts that another host passes on, the generation says which count it has.
type Count string

// The counts of a publisher.
const (
	Serving Count = ""                       // of `serve` and of bundles
	Bucket  Count = bucket.CountBucket + "/" // of a bucket; no ring has a slash in its name
)

// CountOf is the count of a source.
func CountOf(isBucket bool) Count {
	if isBucket {
		return Bucket
	}
	return Serving
}

// of is the count of a text that a source of the count c gives, and what it says of itself.
func (c Count) of(says string) Count {
	if says == bucket.CountBucket {
		return Bucket
	}
	return c
}

// Believer judges the texts of one upstream. Safe for concurrent use.
type Believer struct {
	*known
	place string // which of several sources it is, see At
	next  judged // guarded by mu
}

// known is what a host believes, whichever upstream said it.
type known struct {
	memory Memory
	now    func() time.Time

	mu     sync.Mutex // guards what follows, also while texts are read
	chain  trust.Chain
	belief store.Belief
	broken error // the trust file and what was found before do not fit together; nil if they do
	views  int   // upstreams that are judged by it
}

// judged is a statement that was believed, and whose generation is still to be read.
type judged struct {
	statement trust.Statement
	signers   []string
	chain     trust.Chain // with the newest trust text as the mirror names it; nil if it is the known one
}

// New returns a believer that begins with the versions of a trust file. What memory knows
// of the same root counts, too. nil keeps nothing beyond the process.
func New(file trust.Chain, memory Memory, now func() time.Time) (*Believer, error) {
	b := &Believer{known: &known{memory: memory, now: now, chain: file, views: 1}}
	root := file.Root().Fingerprint()
	b.belief = store.Belief{Origin: file.Root().Origin, Root: root, Chain: string(file.Bytes())}
	if memory == nil {
		return b, nil
	}
	known, err := memory.Belief()
	if err != nil {
		return nil, err
	}
	if known.Root == root {
		b.belief = known
		b.recall([]byte(known.Chain))
	}
	return b, nil
}

// FromFile is New for a trust file and the time of this host. nil is for no file.
func FromFile(path string, memory Memory) (*Believer, error) {
	if path == "" {
		return nil, nil
	}
	chain, err := keyfile.Chain(path)
	if err != nil {
		return nil, err
	}
	return New(chain, memory, time.Now)
}

// Beside returns a believer of another upstream that offers the same. Both share what they
// know, so that nothing goes back when a host changes from one to the other. nil for nil.
func (b *Believer) Beside() *Believer {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.views++
	return &Believer{known: b.known}
}

// recall joins the chain of the trust file and the one that was found before: the longer
// one counts, if it begins with the other.
func (b *Believer) recall(known []byte) {
	if bytes.HasPrefix(b.chain.Bytes(), known) {
		return
	}
	chain, err := trust.ParseChain(known)
	switch {
	case err != nil:
		b.broken = fmt.Errorf("the versions of the trust text that were found before cannot be used: %w", err)
	case chain.Begins(b.chain):
	case b.chain.Begins(chain):
		b.chain = chain
	default:
		b.broken = errors.New("the trust file has another version than the one that was found through the mirror: compare it with `syncd trust show`, or use a trust file with another first version")
	}
}

// Belief is what was believed last.
func (b *Believer) Belief() store.Belief {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.belief
}

// Current judges current.json. It returns a refusal, or the error of fetch. The generation
// is believed only when Generation has seen it, too.
func (b *Believer) Current(ctx context.Context, count Count, c bucket.Current, fetch Fetch) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.broken != nil {
		return refusal.New(refusal.BadTrust, "%w", b.broken)
	}
	if err := b.checkOriginLocked(c); err != nil {
		return err
	}
	if err := b.growLocked(ctx, c.Trust, fetch); err != nil {
		return err
	}
	newest, named := b.chain.Newest(), trust.Chain(nil)
	if newest.HasExpired(b.now()) {
		return refusal.New(refusal.BadTrust, "the trust text of %s (version %d) has expired at %s, and the upstream has no newer one: its operator makes the next version with `syncd trust add --expires`",
			newest.Origin, newest.Version, newest.Expires.Format(time.RFC3339))
	}
	s, signers, err := newest.Believe([]byte(c.Statement))
	if isOther := c.Trust.Version == newest.Version && c.Trust.SHA256.String() != newest.Fingerprint(); isOther && (err == nil || newest.Version > b.chain.Root().Version) {
		if chain, forked := b.namedLocked(ctx, c.Trust, fetch); forked != nil {
			return forked
		} else if err == nil {
			named = chain
		}
	}
	if err != nil {
		return refusal.New(reasonOf(err), "generation %d of the upstream is not believed: %w", c.Generation, err)
	}
	b.next = judged{statement: s, chain: named}
	for _, k := range signers {
		b.next.signers = append(b.next.signers, k.Name())
	}
	return b.judgeLocked(count, c)
}

// checkOriginLocked refuses what is not about the origin of the trust file before its trust texts
// are read.
func (b *Believer) checkOriginLocked(c bucket.Current) error {
	newest := b.chain.Newest()
	if c.Statement == "" {
		return refusal.New(refusal.Unsigned, "generation %d of the upstream is not signed, and the trust file asks for %d of the keys of %s", c.Generation, newest.Threshold, newest.Origin)
	}
	s, err := trust.ParseStatement([]byte(c.Statement))
	if err != nil {
		return refusal.New(refusal.BadSignature, "generation %d of the upstream is not believed: %w", c.Generation, err)
	}
	if s.Origin != newest.Origin {
		return refusal.New(refusal.WrongOrigin, "generation %d of the upstream is of %s, and the trust file is for %s", c.Generation, s.Origin, newest.Origin)
	}
	return nil
}

// judgeLocked compares a signed statement with what it stands beside, what was believed
// before, and the time.
func (b *Believer) judgeLocked(count Count, c bucket.Current) error {
	s := b.next.statement
	if err := b.checkOrderLocked(b.lineLocked(count.of(c.Count), c.Began), s.Generation); err != nil {
		return err
	}
	if s.Generation != c.Generation || s.SHA256 != c.SHA256 {
		return refusal.New(refusal.BadSignature, "%s names generation %d with sha256 %s, but the statement beside it is about generation %d with sha256 %s", bucket.CurrentName, c.Generation, c.SHA256, s.Generation, s.SHA256)
	}
	return checkExpiry(s.Expires, b.now())
}

// checkOrderLocked refuses a number below those of all rings of the line that were seen.
func (b *Believer) checkOrderLocked(of line, number int) error {
	least := 0
	for key, known := range b.belief.Rings {
		if of.has(key) && (least == 0 || known.Number < least) {
			least = known.Number
		}
	}
	if number < least {
		return behind(of.count, number, least)
	}
	return nil
}

// behind refuses a number that is too low. A ring of serve can be shown less than before: nobody
// attacks then, and nothing that is signed tells a follower so.
func behind(count Count, number, least int) error {
	err := rollback("it is signed, but older than %d, which was followed before", number, least)
	if count == Serving {
		err = fmt.Errorf("%w; or this host moved to a later ring, or its release was stopped (`syncd fleet` on the upstream): then it keeps what it has until its ring sees something newer", err)
	}
	return err
}

func rollback(why string, number int, more ...any) error {
	return refusal.New(refusal.UpstreamRollback, "generation %d of the upstream is refused: "+why+": something between gives old data, or the publisher lost its counting", append([]any{number}, more...)...)
}

func checkExpiry(expires, now time.Time) error {
	if now.Add(-trust.Skew).After(expires) {
		return refusal.New(refusal.UpstreamFrozen, "the statement of the upstream has expired at %s: its publisher does not sign any more, or something between gives old answers; check the publisher, and the clock of this host", expires.Format(time.RFC3339))
	}
	return nil
}

// Fresh judges again what was believed last: the same answer can be too old by now.
func (b *Believer) Fresh() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if newest := b.chain.Newest(); newest.HasExpired(b.now()) {
		return refusal.New(refusal.BadTrust, "the trust text of %s (version %d) has expired at %s", newest.Origin, newest.Version, newest.Expires.Format(time.RFC3339))
	}
	expires := b.belief.Expires
	if own := b.next.statement.Expires; b.views > 1 && !own.IsZero() {
		expires = own // another upstream may go on signing
	}
	return checkExpiry(expires, b.now())
}

// Generation judges the text that Current let pass: its SHA-256 is the one in the
// statement. From here on it is believed.
func (b *Believer) Generation(count Count, g bucket.Generation) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	err := b.generationLocked(count, g)
	if err != nil || len(b.next.chain) != len(b.chain) { // nil, or another upstream had a newer version since
		return err
	}
	b.chain, b.next.chain = b.next.chain, nil
	return b.keepLocked(b.belief)
}

func (b *Believer) generationLocked(count Count, g bucket.Generation) error {
	for _, m := range g.Manifests {
		if m.RecordSHA256.IsZero() {
			return refusal.New(refusal.Unsigned, "generation %d of the upstream names the record of %s without its SHA-256: its publisher must be of the version 0.2.0 or a later one", g.Number, m.Name)
		}
	}
	s := b.next.statement
	carrier := count
	count = count.of(g.Count) // that of current.json is not signed
	of := b.lineLocked(count, g.Began)
	if err := b.checkOrderLocked(of, s.Generation); err != nil {
		return err
	}
	if err := cmp.Or(b.checkCountLocked(carrier, count, g), b.checkLinesLocked(of, g)); err != nil {
		if b.isRecognisedLocked(of, g) {
			return nil
		}
		return err
	}
	switch known, found := b.belief.Rings[of.key(g.Ring)]; {
	case found && s.Generation < known.Number:
		return behind(count, s.Generation, known.Number)
	case found && s.Generation == known.Number && s.SHA256 != known.SHA256:
		return rollback("there were two signed texts with this number, and the other one was followed before", s.Generation)
	case found && s.Generation == known.Number && s.Expires.Before(b.belief.Expires):
		return nil // an answer from before a renewal changes nothing
	}
	next := b.belief
	next.Rings = maps.Clone(next.Rings)
	if next.Rings == nil {
		next.Rings = map[string]store.Believed{}
	}
	next.Rings[of.key(g.Ring)] = store.Believed{Number: s.Generation, SHA256: s.SHA256}
	next.Generation, next.Issued, next.Expires, next.Signers, next.Count = s.Generation, s.Issued, s.Expires, b.next.signers, count.name()
	forget(next.Rings, of)
	next.Began, next.Place, next.Published, next.Content = g.Began, b.place, g.PublishedAt, contentOf(g)
	return b.keepLocked(next)
}

// checkCountLocked refuses what is brought in the place of something newer of another count:
// their numbers do not say which of both is older.
func (b *Believer) checkCountLocked(carrier, count Count, g bucket.Generation) error {
	s, last := b.next.statement, b.belief
	switch {
	case carrier == Bucket && g.Count == bucket.CountHost:
		return rollback("it is signed, but it is what a host serves or exports, which no publisher puts into a bucket", s.Generation)
	case carrier != Bucket && last.Count != "" && last.Count != count.name() && s.Issued.Before(last.Issued):
		return rollback("it was signed at %s, and generation %d, which was followed before, at %s", s.Generation, s.Issued.Format(time.RFC3339), last.Generation, last.Issued.Format(time.RFC3339))
	}
	return nil
}

// name is that of the count in a generation.
func (c Count) name() string {
	if c == Bucket {
		return bucket.CountBucket
	}
	return bucket.CountHost
}

// growLocked takes the versions of the trust text up to the one that the mirror names, each
// checked by the one before it. They stay, whatever else the mirror has.
func (b *Believer) growLocked(ctx context.Context, named bucket.TrustText, fetch Fetch) (err error) {
	chain := b.chain
	for err == nil && chain.Newest().Version < named.Version {
		chain, err = oneMore(ctx, chain, fetch)
	}
	if len(chain) > len(b.chain) {
		b.chain = chain
		if err := b.keepLocked(b.belief); err != nil {
			return err
		}
	}
	return err
}

// oneMore fetches the next version.
func oneMore(ctx context.Context, chain trust.Chain, fetch Fetch) (trust.Chain, error) {
	version := chain.Newest().Version + 1
	data, err := fetch(ctx, version)
	if err != nil {
		return chain, fmt.Errorf("%s: %w", bucket.TrustName(version), err)
	}
	longer, err := chain.AddText(data)
	if err == nil && len(longer.Bytes()) > trust.MaxChain {
		err = fmt.Errorf("all versions have %d bytes, at most %d are allowed", len(longer.Bytes()), trust.MaxChain)
	}
	if err != nil {
		return chain, refusal.New(refusal.BadTrust, "%s of the upstream is refused: %w", bucket.TrustName(version), err)
	}
	return longer, nil
}

func (b *Believer) keepLocked(next store.Belief) error {
	next.Chain, next.Trust = string(b.chain.Bytes()), b.chain.Newest().Version
	if b.memory != nil {
		if err := b.memory.SetBelief(next); err != nil {
			return fmt.Errorf("keeping what was believed: %w", err)
		}
	}
	b.belief = next
	return nil
}

// reasonOf is why a statement was not believed.
func reasonOf(err error) refusal.Reason {
	switch {
	case errors.Is(err, trust.ErrUnsigned):
		return refusal.Unsigned
	case errors.Is(err, trust.ErrWrongOrigin):
		return refusal.WrongOrigin
	}
	return refusal.BadSignature // also for what is malformed: it was changed, or nobody signed it
}
