package downstream_test

import (
	"os"
	"strings"
	"testing"

	"syncd/internal/downstream/trust"
	"syncd/internal/e2e"
	"syncd/internal/manifest/refusal"
)

// signers are two publishers of one bucket, both of whose keys must sign, and a follower.
type signers struct {
	alice, bob *publisherHost
	follower   *e2e.FollowerHost
}

// newKeyOf makes a key on a host, and returns the public one.
func newKeyOf(h *e2e.Host, name string) string {
	h.Helper()
	return strings.TrimSpace(h.Expect(0, "trust", "keygen", name, "-o", h.Path(name+".key")).Stdout)
}

// give copies a file of one host to others, as an operator does.
func give(from *e2e.Host, name string, to ...*e2e.Host) {
	from.Helper()
	text, err := os.ReadFile(from.Path(name))
	from.Must(err)
	for _, h := range to {
		h.Write(name, string(text), 0o600)
	}
}

func newSigners(t *testing.T, valid string) *signers {
	t.Helper()
	p := newPublisher(t, "m")
	q := publisherOf(e2e.NewHostOf(t, p.Provider, "m"), p.store)
	s := &signers{p, q, p.follower()}
	keys := []string{newKeyOf(p.Host, "alice"), newKeyOf(q.Host, "bob"), newKeyOf(p.Host, "spare")}
	p.Expect(0, append([]string{"trust", "init", "--origin", "mirror.example.net", "--threshold", "2", "-o", p.Path("trust")}, keys...)...)
	give(p.Host, "trust", q.Host, s.follower.Host)
	p.publishWith("sign: {key_file: alice.key, trust_file: trust, valid: " + valid + "}\n")
	q.publishWith("sign: {key_file: bob.key, trust_file: trust, valid: " + valid + "}\n")
	s.follower.Settings.Source = "trust_file: trust"
	s.follower.Configure()
	return s
}

func (s *signers) release(release, content string) { s.alice.Month("m", release, content) }

func (s *signers) serves(content string) {
	s.alice.Helper()
	e2e.Same(s.follower.Host, "content", content, s.follower.ServedContent("m"))
}

func TestTwoPublishersMustSign(t *testing.T) {
	t.Parallel()
	s := newSigners(t, "48h")
	s.release("2026.09", "september")
	s.alice.Sync(0)
	s.alice.Contains("publish", s.alice.Expect(0, "publish").Stdout, "signed by alice until ", "before 1 more of the keys of mirror.example.net sign it")
	refused := s.follower.Sync(1)
	e2e.Same(s.follower.Host, "reason", string(refusal.Unsigned), refused.Manifests[0].Reason)
	s.bob.Sync(0)
	s.follower.Sync(0)
	s.serves("september")
	status := s.follower.Expect(0, "status").Stdout
	s.follower.Contains("status", status, "generation 1 of mirror.example.net is signed by alice, bob until ")

	s.release("2026.10", "october") // one of both has it
	s.alice.Sync(0)
	s.bob.Contains("a publisher without the release", s.bob.Expect(0, "publish").Stdout, "kept what another publisher has newer: m", "signed by alice")
	s.follower.Sync(0)
	s.serves("september")
	s.bob.Sync(0)
	s.follower.Sync(0)
	s.serves("october")

	old, err := os.ReadFile(s.alice.store.Path("mirror/current.json"))
	s.alice.Must(err)
	s.rotate()
	s.release("2026.11", "november")
	s.alice.Sync(0)
	s.bob.Sync(0)
	s.follower.Sync(0)
	s.serves("november")
	s.follower.Contains("status", s.follower.Expect(0, "status", "--json").Stdout, `"trust_version": 3`, `"carol"`, `"dave"`)
	s.alice.store.Put("mirror/current.json", old)
	e2e.Same(s.follower.Host, "reason", string(refusal.Unsigned), s.follower.Sync(1).Manifests[0].Reason)
	s.follower.Contains("explain", s.follower.Expect(0, "explain").Stdout, "too few of the keys that this host trusts have signed it")
	s.serves("november")
}

// rotate replaces all keys. The follower is not told.
func (s *signers) rotate() {
	p, q := s.alice, s.bob
	p.Helper()
	carol, dave := newKeyOf(p.Host, "carol"), newKeyOf(q.Host, "dave")
	give(q.Host, "dave.key", p.Host) // to sign the removal; a ceremony would carry the text instead
	p.Expect(0, "trust", "add", carol, dave, "--trust", p.Path("trust"), "--key", p.Path("alice.key"), "--key", p.Path("spare.key"))
	p.Expect(0, "trust", "remove", "alice", "bob", "spare", "--trust", p.Path("trust"), "--key", p.Path("alice.key"), "--key", p.Path("spare.key"), "--key", p.Path("carol.key"), "--key", p.Path("dave.key"))
	give(p.Host, "trust", q.Host)
	p.publishWith("sign: {key_file: carol.key, trust_file: trust}\n")
	q.publishWith("sign: {key_file: dave.key, trust_file: trust}\n")
}

// A daemon renews the statement although nothing is new, also in a bucket.
func TestADaemonRenewsItsStatement(t *testing.T) {
	t.Parallel()
	p := newPublisher(t, "m")
	key := newKeyOf(p.Host, "alice")
	p.Expect(0, "trust", "init", "--origin", "mirror.example.net", key, "-o", p.Path("trust"))
	p.publishWith("sign: {key_file: alice.key, trust_file: trust, valid: 1m}\n")
	p.Month("m", "2026.10", "october")
	daemon := p.SyncedDaemon()
	issued := func() string {
		statement, err := trust.ParseStatement([]byte(p.inBucket().Statement))
		p.Must(err)
		return statement.Issued.String()
	}
	first, generation := issued(), p.inBucket().Generation
	p.Eventually("renewal", func() bool { return issued() != first })
	e2e.Same(p.Host, "generation", generation, p.inBucket().Generation)
	daemon.Terminate()
}
