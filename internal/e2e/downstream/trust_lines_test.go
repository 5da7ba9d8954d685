package downstream_test

import (
	"crypto/sha256"
	"encoding/base64"
	"os"
	"testing"

	"syncd/internal/downstream/bucket"
	"syncd/internal/e2e"
)

// Who has no key adds a signature that nobody can check to a new version of the trust text, while
// a follower asks for it. The follower takes it, and goes on with the publisher's own text.
func TestATrustTextWithASignatureMore(t *testing.T) {
	t.Parallel()
	p := newPublisher(t, "m")
	f := p.follower()
	p.Expect(0, "trust", "init", "--origin", "mirror.example.net", "-o", p.Path("trust"), newKeyOf(p.Host, "alice"))
	give(p.Host, "trust", f.Host)
	p.publishWith("sign: {key_file: alice.key, trust_file: trust}\n")
	f.Settings.Source = "trust_file: trust"
	f.Configure()
	p.Month("m", "2026.10", "october")
	p.Sync(0)
	f.Sync(0)

	p.Expect(0, "trust", "add", "--trust", p.Path("trust"), "--key", p.Path("alice.key"), newKeyOf(p.Host, "spare"))
	p.Month("m", "2026.11", "november")
	p.Sync(0)
	names := []string{bucket.TrustName(2), bucket.CurrentName}
	honest := map[string][]byte{}
	for _, name := range names {
		text, err := os.ReadFile(p.store.Path("mirror/" + name))
		p.Must(err)
		honest[name] = text
	}
	more := append([]byte(nil), honest[names[0]]...)
	more = append(more, "\u2014 stranger "+base64.StdEncoding.EncodeToString(make([]byte, 68))+"\n"...)
	current := p.inBucket()
	current.Trust.SHA256 = sha256.Sum256(more)
	p.store.Put("mirror/"+names[0], more)
	p.store.Put("mirror/"+names[1], current.Text())
	f.Sync(0)
	for _, name := range names {
		p.store.Put("mirror/"+name, honest[name])
	}
	p.Month("m", "2026.12", "december")
	p.Sync(0)
	f.Sync(0)
	e2e.Same(f.Host, "content", "december", f.ServedContent("m"))
}
