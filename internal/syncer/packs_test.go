package syncer_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/bucket/buckettest"
	"syncd/internal/report"
)

// smallFiles are many small files, and one that is in no pack.
func smallFiles(version string) files {
	content := files{"large.dat": strings.Repeat(version, 100_000)}
	for i := range 60 {
		content[fmt.Sprintf("%02d.dat", i)] = fmt.Sprint(version, i, strings.Repeat(" small", 500))
	}
	return content
}

func packed(content files) buckettest.Release {
	r := of10("2026.10", content)
	r.Packed = true
	return r
}

// kinds counts what was asked for of the mirror.
func kinds(asked []string) map[string]int {
	counts := map[string]int{}
	for _, name := range asked {
		kind, _, _ := strings.Cut(strings.TrimPrefix(name, "mirror/"), "/")
		counts[kind]++
	}
	return counts
}

func TestManySmallFilesComeInFewRequests(t *testing.T) {
	content := smallFiles("october")
	w, u := upstreamWith(t, bucket.Generation{Number: 1}, packed(content))
	m := w.expect(w.poll(), "data", report.Updated)
	w.serves("data", content)
	asked := u.asked()
	if of := kinds(asked); of["packs"] != 1 || of["objects"] != 1 || of["patches"] != 1 || len(asked) != 7 {
		t.Errorf("asked for %v", asked)
	}
	if m.FilesDownloaded != 61 || m.BytesDownloaded >= 800_000 {
		t.Errorf("%d files and %d bytes came", m.FilesDownloaded, m.BytesDownloaded)
	}
}

func TestAPackOfWhichLittleIsMissingIsNotFetched(t *testing.T) {
	content := smallFiles("october")
	w, u := upstreamWith(t, bucket.Generation{Number: 1}, packed(content))
	w.expect(w.poll(), "data", report.Updated)
	u.asked()
	for i := range 20 {
		content[fmt.Sprintf("%02d.dat", i)] = fmt.Sprint("november", i, strings.Repeat(" small", 500))
	}
	next := packed(content)
	next.Release = "2026.11"
	w.offerIn(u, bucket.Generation{Number: 2}, next)
	w.expect(w.poll(), "data", report.Updated)
	w.serves("data", content)
	if of := kinds(u.asked()); of["packs"] != 0 || of["objects"] != 20 {
		t.Errorf("a third is missing: %v", of)
	}
}

// Whatever is wrong with a pack, its contents come one by one.
func TestAHostilePackCostsNothingButItsBytes(t *testing.T) {
	content := smallFiles("october")
	var plain []byte
	for i := range 60 {
		plain = append(plain, content[fmt.Sprintf("%02d.dat", i)]...)
	}
	wrong := bytes.Clone(plain)
	wrong[0]++
	for name, forged := range map[string][]byte{
		"none":             nil,
		"empty":            {},
		"not compressed":   plain,
		"cut":              buckettest.Compressed(plain)[:100],
		"short":            buckettest.Compressed(plain[:len(plain)-1]),
		"long":             buckettest.Compressed(append(bytes.Clone(plain), plain...)),
		"a bomb":           buckettest.Compressed(make([]byte, 64<<20)),
		"a wrong content":  buckettest.Compressed(wrong),
		"other contents":   buckettest.Compressed(bytes.Repeat([]byte("x"), len(plain))),
		"skipped frames":   bytes.Repeat(append(binary.LittleEndian.AppendUint32([]byte{0x50, 0x2a, 0x4d, 0x18}, 1<<16), make([]byte, 1<<16)...), 100),
		"an immense frame": {0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0x01, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w, u := upstreamWith(t, bucket.Generation{Number: 1}, packed(content))
			u.mu.Lock()
			for name := range u.mirror {
				if !strings.HasPrefix(name, bucket.Packs) {
					continue
				}
				if u.mirror[name] = forged; forged == nil {
					delete(u.mirror, name)
				}
			}
			u.mu.Unlock()
			w.expect(w.poll(), "data", report.Updated)
			w.serves("data", content)
		})
	}
}

// A generation that names another number of packs than its record has was made by another
// version of syncd, whose packs have other contents.
func TestPacksOfAnotherVersionAreNotAskedFor(t *testing.T) {
	content := smallFiles("october")
	w := start(t, "data")
	u := w.behindUpstream()
	w.publish("data", "2026.10", content)
	u.offers(bucket.Generation{Number: 1, Publisher: "test"}, packed(content))
	g, err := bucket.ParseGeneration(1, u.mirror[bucket.GenerationName(1)])
	must(t, err)
	g.Manifests[0].Packs++
	u.mirror[bucket.GenerationName(1)] = g.Text()
	u.mirror[bucket.CurrentName] = bucket.Current{Generation: 1, SHA256: sha256.Sum256(g.Text()), Publisher: "test"}.Text()
	w.expect(w.poll(), "data", report.Updated)
	w.serves("data", content)
	if of := kinds(u.asked()); of["packs"] != 0 || of["objects"] != 61 {
		t.Errorf("asked for %v", of)
	}
}

// A pack whose connection breaks is asked for again; what came of it is not lost.
func TestAPackGoesOnAfterAnInterruption(t *testing.T) {
	content := smallFiles("october")
	w, u := upstreamWith(t, bucket.Generation{Number: 1}, packed(content))
	wasCut := false
	u.mu.Lock()
	u.front = func(rw http.ResponseWriter, r *http.Request) bool {
		name, isPack := strings.CutPrefix(r.URL.Path, "/-/mirror/"+bucket.Packs)
		u.mu.Lock()
		defer u.mu.Unlock()
		if !isPack || wasCut {
			return false
		}
		wasCut = true
		_, _ = rw.Write(u.mirror[bucket.Packs+name][:200])
		panic(http.ErrAbortHandler)
	}
	u.mu.Unlock()
	w.expect(w.poll(), "data", report.Updated)
	w.serves("data", content)
	if of := kinds(u.asked()); of["packs"] != 2 || of["objects"] != 1 {
		t.Errorf("asked for %v", of)
	}
}

// A server whose places for packs are all taken refuses them for long. Its contents can be had.
func TestAPackThatIsRefusedComesOneByOneSoon(t *testing.T) {
	content := smallFiles("october")
	w, u := upstreamWith(t, bucket.Generation{Number: 1}, packed(content))
	u.mu.Lock()
	u.front = func(rw http.ResponseWriter, r *http.Request) bool {
		if !strings.HasPrefix(r.URL.Path, "/-/mirror/"+bucket.Packs) {
			return false
		}
		rw.WriteHeader(http.StatusServiceUnavailable)
		return true
	}
	u.mu.Unlock()
	w.expect(w.poll(), "data", report.Updated)
	w.serves("data", content)
	if of := kinds(u.asked()); of["packs"] != 3 || of["objects"] != 61 {
		t.Errorf("asked for %v", of)
	}
}
