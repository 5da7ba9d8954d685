package serve

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"syncd/internal/config"
	"syncd/internal/downstream/bucket"
	"syncd/internal/emulator"
	"syncd/internal/manifest"
)

// manySmall gives the provider small files, and one that is in no pack.
func manySmall(e *emulator.Emulator, release string, count int) {
	list := []emulator.File{{Name: "large", Content: emulator.Random(9, 1<<20)}, {Name: "empty", Content: emulator.Text("")}}
	for i := range count {
		list = append(list, emulator.File{Name: fmt.Sprintf("%05d", i), Content: emulator.Random(uint64(i), 20_000)})
	}
	e.SetManifest("All_Classes", release, list...)
}

func TestPacksHaveTheSmallContentsOfARecord(t *testing.T) {
	e := startProvider(t)
	h := startHost(t, e, entry("All_Classes"))
	manySmall(e, "2026.10", 500)
	h.sync()
	u := mirrorUpstream(t, h, nil)
	_, generation := u.newest(t)
	m := generation.Manifests[0]
	record, err := bucket.ReadRecord(m, strings.NewReader(u.text(t, m.Record()).text))
	must(t, err)
	packs := bucket.PacksOf(record.Files)
	if m.Packs != len(packs) || m.Packs < 2 {
		t.Fatalf("the generation names %d packs, its record has %d", m.Packs, len(packs))
	}
	decoder, err := zstd.NewReader(nil)
	must(t, err)
	defer decoder.Close()
	for _, p := range packs {
		got := u.text(t, p.Name())
		plain, err := decoder.DecodeAll([]byte(got.text), nil)
		if err != nil || int64(len(plain)) != p.Size() || len(got.text) > len(plain)+1000 {
			t.Fatalf("%s: %d, %d bytes of %d, %v", p.Name(), got.StatusCode, len(plain), p.Size(), err)
		}
		for _, c := range p.Contents {
			if sha256.Sum256(plain[:c.Size]) != c.ID {
				t.Fatalf("%s is another content", c.ID)
			}
			plain = plain[c.Size:]
		}
		if head := ask(t, http.MethodHead, withID(u.url()+"/-/mirror/"+p.Name(), followerID)); head.StatusCode != http.StatusOK || head.text != "" {
			t.Errorf("HEAD: %d", head.StatusCode)
		}
		if wrong := ask(t, http.MethodGet, withID(u.url()+"/-/mirror/"+p.Name(), "wrong")); wrong.StatusCode != http.StatusUnauthorized {
			t.Errorf("a wrong id: %d", wrong.StatusCode)
		}
	}
	if none := u.text(t, bucket.PackName(manifest.ObjectID{1})); none.StatusCode != http.StatusNotFound {
		t.Errorf("no such pack: %d", none.StatusCode)
	}
}

// A pack whose content is gone ends in the middle, so that nobody takes it for a whole one.
func TestAPackWithoutOneOfItsContentsIsCutOff(t *testing.T) {
	e := startProvider(t)
	h := startHost(t, e, entry("All_Classes"))
	manySmall(e, "2026.10", 200)
	h.sync()
	u := mirrorUpstream(t, h, nil)
	_, generation := u.newest(t)
	record, err := bucket.ReadRecord(generation.Manifests[0], strings.NewReader(u.text(t, generation.Manifests[0].Record()).text))
	must(t, err)
	pack := bucket.PacksOf(record.Files)[0]
	id := pack.Contents[len(pack.Contents)-1].ID.String()
	must(t, os.Remove(h.cfg.DataDir+"/objects/"+id[:2]+"/"+id))
	if _, err := tryAsk(http.MethodGet, withID(u.url()+"/-/mirror/"+pack.Name(), followerID)); err == nil {
		t.Error("it seems to be whole")
	}
}

// A ring has no packs of what it does not see.
func TestARingGetsPacksOfWhatItSeesOnly(t *testing.T) {
	e := startProvider(t)
	h := startHost(t, e, entry("data"))
	h.cfg.Serve.Rings = []config.Ring{{Name: "canary", StopAbove: -1}, {Name: "rest", Delay: 24 * time.Hour, StopAbove: -1}}
	h.entries(entry("data"))
	publishData(e, "2026.09", "one")
	h.sync()
	u := ringsOf(t, h)
	canary := u.becomes(t, "canary", "2026.09", bucket.Generation{})
	record, err := bucket.ReadRecord(canary.Manifests[0], strings.NewReader(u.get(t, "canary", canary.Manifests[0].Record()).text))
	must(t, err)
	for _, p := range bucket.PacksOf(record.Files) {
		if got := u.get(t, "canary", p.Name()); got.StatusCode != http.StatusOK {
			t.Errorf("the ring that sees it: %d", got.StatusCode)
		}
		if got := u.get(t, "rest", p.Name()); got.StatusCode != http.StatusNotFound {
			t.Errorf("the other one: %d", got.StatusCode)
		}
	}
	if canary.Manifests[0].Packs != 1 {
		t.Errorf("%+v", canary.Manifests[0])
	}
}
