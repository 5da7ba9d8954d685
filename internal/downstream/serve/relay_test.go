package serve

import (
	"crypto/sha256"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"syncd/internal/config"
	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/trust"
	"syncd/internal/emulator"
	"syncd/internal/manifest"
)

// signingKey makes a key file and a trust file of a publisher.
func signingKey(t *testing.T) (key, trustFile string) {
	t.Helper()
	secret, public, err := trust.GenerateKey("publisher.example")
	must(t, err)
	text, err := trust.New("example", 1, time.Now().AddDate(1, 0, 0), public)
	must(t, err)
	key, trustFile = filepath.Join(t.TempDir(), "key"), filepath.Join(t.TempDir(), "trust")
	must(t, os.WriteFile(key, []byte(secret+"\n"), 0o600))
	must(t, os.WriteFile(trustFile, text.Bytes(), 0o600))
	return key, trustFile
}

// believes lets a host take only what a trust file's keys signed.
func (h *host) believes(trustFile string) *host {
	h.Helper()
	h.cfg.Source.TrustFile = trustFile
	h.entries(h.cfg.Manifests...)
	return h
}

// passes is what a host says of its newest generation to those that follow it.
func (u *upstream) passes(t *testing.T) (bucket.Current, string) {
	t.Helper()
	got := u.text(t, bucket.CurrentName)
	c, err := bucket.ParseCurrent([]byte(got.text))
	if err != nil {
		t.Fatalf("%d %q: %v", got.StatusCode, got.text, err)
	}
	return c, got.text
}

// A follower three hops away takes the first publisher's statement and nothing else, byte for
// byte.
func TestSignedTextsArePassedOnOverThreeHops(t *testing.T) {
	t.Parallel()
	e := startProvider(t)
	key, trustFile := signingKey(t)
	first := startHost(t, e)
	first.cfg.Sign = config.Sign{KeyFile: key, TrustFile: trustFile, Valid: time.Hour}
	first.entries(entry("data"), entry("other"))
	publishData(e, "2026.09", "one")
	e.SetManifest("other", "2026.09", emulator.File{Name: "x", Content: emulator.Text("x")})
	first.sync()
	servers := []*upstream{mirrorUpstream(t, first, nil)}
	var hosts []*host
	for n := range 3 { // the second one mirrors one manifest, the last one has a filter, too
		h := follow(t, e, servers[n], followerID, entry("data"))
		m := entry("data")
		if n == 2 {
			m.Filter.Exclude = []string{"same"}
		}
		h.entries(m)
		if n == 0 {
			h.entries(entry("data"), entry("other"))
		}
		h.believes(trustFile).sync()
		hosts, servers = append(hosts, h), append(servers, mirrorUpstream(t, h, nil))
	}
	same := func(what string) {
		t.Helper()
		c, text := servers[0].passes(t)
		generation := servers[0].text(t, bucket.GenerationName(c.Generation)).text
		for n, u := range servers[1:] {
			if _, got := u.passes(t); got != text || c.Statement == "" {
				t.Errorf("%s: hop %d passes on\n%s\nand not\n%s", what, n+1, got, text)
			}
			if got := u.text(t, bucket.GenerationName(c.Generation)); got.text != generation {
				t.Errorf("%s: hop %d has another text of the generation: %d %s", what, n+1, got.StatusCode, got.text)
			}
			g, err := bucket.ParseGeneration(c.Generation, []byte(generation))
			must(t, err)
			m, _ := g.Manifest("data")
			if _, err := bucket.ReadRecord(m, strings.NewReader(u.text(t, m.Record()).text)); err != nil {
				t.Errorf("%s: hop %d: %v", what, n+1, err)
			}
			if got := u.text(t, bucket.TrustName(1)); got.text == "" || got.text != servers[0].text(t, bucket.TrustName(1)).text {
				t.Errorf("%s: hop %d has another trust text: %d", what, n+1, got.StatusCode)
			}
		}
	}
	same("first")
	publishData(e, "2026.10", "two")
	first.sync()
	for _, h := range hosts {
		h.sync()
	}
	same("a new release")
	for n, h := range hosts {
		if got := h.content("data/a"); got != "two" {
			t.Errorf("hop %d has %q", n+1, got)
		}
	}
	if got := servers[3].text(t, bucket.ObjectName(objectOf("the same"))); got.StatusCode != 404 {
		t.Errorf("a content that a filter leaves out: %d", got.StatusCode)
	}
	restarted := hosts[0].restart()
	servers[1] = mirrorUpstream(t, restarted, nil)
	same("a restart")
}

// A host in the middle of a release, or without some of it, passes on what it holds whole until
// that has expired.
func TestAGenerationIsPassedOnWhenItIsHeldWhole(t *testing.T) {
	t.Parallel()
	e := startProvider(t)
	key, trustFile := signingKey(t)
	first := startHost(t, e)
	first.cfg.Sign = config.Sign{KeyFile: key, TrustFile: trustFile, Valid: time.Hour}
	first.entries(entry("data"), entry("other"))
	publishData(e, "2026.09", "one")
	e.SetManifest("other", "2026.09", emulator.File{Name: "x", Content: emulator.Text("x")})
	first.sync()
	u := mirrorUpstream(t, first, nil)
	h := follow(t, e, u, followerID, entry("data"))
	gated := entry("data")
	gated.Gate = config.Gate{Command: []string{"sh", "-c", `! grep -q two "$SYNCD_PATH/a"`}, Timeout: time.Minute}
	h.entries(gated, entry("other"))
	h.believes(trustFile).sync()
	down := mirrorUpstream(t, h, nil)
	before, text := down.passes(t)
	publishData(e, "2026.10", "two")
	first.sync()
	h.poll() // its gate refuses the release
	if now, _ := u.passes(t); now.Generation == before.Generation {
		t.Fatalf("the upstream has no news: %+v", now)
	}
	if _, got := down.passes(t); got != text {
		t.Errorf("a generation is passed on that this host does not hold: %s", got)
	}
	if got := down.text(t, bucket.ObjectName(objectOf("two"))); got.StatusCode != 404 {
		t.Errorf("a content that the gate refused: %d", got.StatusCode)
	}
	publishData(e, "2026.11", "three")
	first.sync()
	h.sync()
	now, _ := u.passes(t)
	if got, _ := down.passes(t); got.Generation != now.Generation {
		t.Errorf("generation %d is passed on, and not %d", got.Generation, now.Generation)
	}
	unsigned := follow(t, e, down, followerID, entry("data")) // it asks for no signatures
	unsigned.sync()
	if got := unsigned.content("data/a"); got != "three" {
		t.Errorf("a follower without a trust file has %q", got)
	}
}

func objectOf(text string) manifest.ObjectID { return sha256.Sum256([]byte(text)) }
