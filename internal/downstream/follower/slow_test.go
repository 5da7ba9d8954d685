package follower_test

import (
	"bytes"
	"crypto/sha256"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"syncd/internal/clients/transport"
	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/bundle"
	"syncd/internal/downstream/follower"
	"syncd/internal/downstream/patch"
	"syncd/internal/manifest"
	"syncd/internal/mirror/record"
)

// slowMirror has contents by their names. Patches come slowly.
type slowMirror struct {
	texts map[string][]byte
	quick int           // bytes of a patch that come at once
	step  int           // bytes that come after each pause
	pause time.Duration // of a patch
}

func (m *slowMirror) RoundTrip(r *http.Request) (*http.Response, error) {
	name := strings.TrimPrefix(r.URL.Path, "/")
	text, found := m.texts[name]
	res := &http.Response{StatusCode: http.StatusOK, ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, ContentLength: int64(len(text)), Request: r}
	if !found {
		res.StatusCode = http.StatusNotFound
	}
	var body io.Reader = bytes.NewReader(text)
	if _, _, isPatch := bucket.ParsePatchName(name); isPatch {
		body = io.MultiReader(bytes.NewReader(text[:m.quick]), &slowReader{m, bytes.NewReader(text[m.quick:])})
	}
	res.Body = io.NopCloser(body)
	return res, nil
}

type slowReader struct {
	mirror *slowMirror
	from   io.Reader
}

func (r *slowReader) Read(p []byte) (int, error) {
	time.Sleep(r.mirror.pause)
	return r.from.Read(p[:min(len(p), r.mirror.step)])
}

// patchFrom is a patch to a content from another one, or from the empty one.
func patchFrom(t *testing.T, before manifest.ObjectID, old string, after manifest.ObjectID, content []byte) []byte {
	t.Helper()
	if before == bucket.Empty {
		old = ""
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "patch"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err = patch.Make(t.Context(), patch.Content{Identity: patch.Identity{Size: int64(len(old)), Digest: before}, ReaderAt: strings.NewReader(old)},
		patch.Content{Identity: patch.Identity{Size: int64(len(content)), Digest: after}, ReaderAt: bytes.NewReader(content)}, file); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// A segment is made when its last byte is here. So nobody behind the client can see that its
// patch drips.
func TestAPatchThatDripsIsGivenUp(t *testing.T) {
	noise := make([]byte, 1<<20)
	_, _ = rand.NewChaCha8([32]byte{}).Read(noise)
	content := append(bytes.Clone(noise), noise...)
	id := manifest.ObjectID(sha256.Sum256(content))
	texts, list := map[string][]byte{bucket.ObjectName(id): content}, bucket.PatchList{}
	old := filepath.Join(t.TempDir(), "old")
	if err := os.WriteFile(old, []byte("something else"), 0o600); err != nil {
		t.Fatal(err)
	}
	earlier := manifest.ObjectID(sha256.Sum256([]byte("something else")))
	for _, before := range []manifest.ObjectID{earlier, bucket.Empty} {
		text := patchFrom(t, before, "something else", id, content)
		texts[bucket.PatchName(before, id)] = text
		list.Patches = append(list.Patches, bucket.Patch{Old: before, New: id, Size: int64(len(text))})
	}
	m := bucket.Manifest{Name: "data", Release: "2026.10", Revision: "0123456789ab"}
	texts[bucket.PatchListName(m)] = bucket.NewPatchList(list.Patches, func(manifest.ObjectID) int64 { return 0 }).Text()
	for name, quick := range map[string]int{"from its first byte": 0, "in a segment": 20_000} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				mirror := &slowMirror{quick: quick, step: 1, pause: 5 * time.Second, texts: texts}
				carrier, err := transport.New(transport.Config{Base: bundle.Base(), Carrier: mirror})
				if err != nil {
					t.Fatal(err)
				}
				client := follower.New(carrier)
				defer client.Close()
				client.Patch(func(manifest.ObjectID) (*os.File, error) { return os.Open(old) }, transport.MinRate{Rate: 1 << 10, Over: 2 * time.Minute})
				client.Expect(t.Context(), m, []record.File{{Path: "a.dat", Size: int64(len(content)), Object: id}})
				begin, failed := time.Now(), 0
				for ; failed < 10; failed++ {
					res, err := client.Download(t.Context(), manifest.File{Expected: id.Digest()}, http.Header{}, true)
					var got []byte
					if err == nil {
						got, err = io.ReadAll(res.Body)
						res.Body.Close()
					}
					if err == nil {
						if !bytes.Equal(got, content) {
							t.Errorf("%d other bytes", len(got))
						}
						break
					}
					if !transport.IsTransient(err) || !strings.Contains(err.Error(), "too slow") {
						t.Errorf("the error is %v", err)
					}
				}
				if took := time.Since(begin); failed < 3 || failed > 4 || took > 9*time.Minute {
					t.Errorf("the whole came after %d failures and %v", failed, took)
				}
			})
		})
	}
}
