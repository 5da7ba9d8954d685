package serve

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"

	"syncd/internal/emulator"
	"syncd/internal/httpserver/accounts"
)

// A HEAD of a list of 20,000 files took 13 ms of CPU, so one follower could take all of it.
func TestALongListIsCountedOnce(t *testing.T) {
	e := startProvider(t)
	var files []emulator.File
	for i := range 2000 {
		files = append(files, emulator.File{Name: fmt.Sprintf("file&%d.txt", i), Content: emulator.Text("same")})
	}
	e.SetManifest("long", "2026.10", files...)
	h := startHost(t, e, entry("long"))
	h.sync()
	s := New(Config{Catalog: h.engine.Followers.Catalog(), PublicURL: "http://mirror", IDParam: "id", IDs: idsOf(t, Identity{Name: "host"})})
	for _, format := range formatValues[:7] {
		r := httptest.NewRequest(http.MethodHead, withID(withFormat("/Manifest/latest/long", format), followerID), nil)
		s.ServeHTTP(silent{http.Header{}}, r)
		if allocations := testing.AllocsPerRun(5, func() { s.ServeHTTP(silent{http.Header{}}, r) }); allocations > 500 {
			t.Errorf("%s: %.0f allocations for a list whose length is known", format, allocations)
		}
	}
}

// Two slow readers of one follower had all pages for people.
func TestPagesOfOneFollowerKeepNoOtherOut(t *testing.T) {
	e := startProvider(t)
	const other = "another id"
	ids := idsOf(t, Identity{Name: "host"})
	text, err := os.ReadFile(ids.path)
	must(t, err)
	must(t, os.WriteFile(ids.path, append(text, Identity{Name: "other", sum: sha256.Sum256([]byte(other))}.line()...), 0o600))
	must(t, ids.Reload())
	s := New(Config{Catalog: mirrored(t, e), PublicURL: "http://mirror", IDParam: "id", IDs: ids})
	browse := func(w http.ResponseWriter, id string) {
		s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, withID("/Browse", id), nil))
	}
	status := func(id string) int {
		w := httptest.NewRecorder()
		browse(w, id)
		return w.Code
	}
	reached, released := make(chan bool), make(chan struct{})
	var slow sync.WaitGroup
	for range maxPagesOfOne {
		slow.Go(func() { browse(&stuck{silent{http.Header{}}, sync.Once{}, reached, released}, followerID) })
		<-reached
	}
	if got := status(followerID); got != http.StatusServiceUnavailable {
		t.Errorf("a further page of one follower: %d", got)
	}
	if got := status(other); got != http.StatusOK {
		t.Errorf("a page of another one: %d", got)
	}
	close(released)
	slow.Wait()
	if got := status(followerID); got != http.StatusOK || s.pages.all != 0 || len(s.pages.of) != 0 {
		t.Errorf("afterwards: %d, %d pages of %d", got, s.pages.all, len(s.pages.of))
	}
	for i := range maxPages {
		s.pages.begin(accounts.OfID(fmt.Sprint(i)))
	}
	if got := status(other); got != http.StatusServiceUnavailable {
		t.Errorf("above the most pages: %d", got)
	}
}

// stuck is a client that takes nothing until released is closed.
type stuck struct {
	silent
	once     sync.Once
	reached  chan<- bool
	released <-chan struct{}
}

func (s *stuck) Write(p []byte) (int, error) {
	s.once.Do(func() { s.reached <- true })
	<-s.released
	return len(p), nil
}
