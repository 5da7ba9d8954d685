package syncer_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/rings"
	"syncd/internal/manifest/destruction"
	"syncd/internal/report"
)

// inFront makes a server in front of the upstream answer requests for the mirror; nil for none.
func (u *upstream) inFront(answer http.HandlerFunc) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.front = func(rw http.ResponseWriter, r *http.Request) bool {
		isMirror := answer != nil && strings.HasPrefix(r.URL.Path, "/-/")
		if isMirror {
			rw.Header().Del(rings.HeaderUpstream)
			answer(rw, r)
		}
		return isMirror
	}
}

// A server in front of the upstream can forbid paths that it does not know, and the provider
// can take the upstream's place. Neither is a mirror, and the wire format goes on.
func TestWhatIsNoSyncdHasNoMirror(t *testing.T) {
	for _, status := range []int{http.StatusOK, http.StatusNoContent, http.StatusMovedPermanently, http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusMethodNotAllowed, http.StatusRequestHeaderFieldsTooLarge} {
		for _, wasRead := range []bool{true, false} {
			what := fmt.Sprintf("status %d, read before: %t: ", status, wasRead)
			w, u := upstreamWith(t, bucket.Generation{Number: 1}, of10("2026.09", september()))
			if wasRead {
				w.expect(w.poll(), "data", report.Updated)
			}
			u.inFront(func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(status) })
			w.offerIn(u, bucket.Generation{Number: 2}, of10("2026.10", october()))
			w.expect(w.poll(), "data", report.Updated)
			w.serves("data", october())
			u.asked()
			w.expect(w.poll(), "data", report.Unchanged)
			equal(t, what+"the next poll", u.asked(), []string{"ManifestReleases"})
		}
	}
}

// A syncd that refuses has a mirror all the same, and once it was read, no other answer is
// believed.
func TestASyncdThatRefusesHasAMirror(t *testing.T) {
	w, u := upstreamWith(t, bucket.Generation{Number: 1}, of10("2026.09", september()))
	w.expect(w.poll(), "data", report.Updated)
	u.inFront(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set(rings.HeaderUpstream, rings.Upstream)
		rw.WriteHeader(http.StatusUnauthorized)
	})
	w.expect(w.poll(), "data", report.Failed)
	u.asked()
	u.inFront(nil)
	w.expect(w.poll(), "data", report.Unchanged)
	equal(t, "the poll after it", u.asked(), []string{"mirror/current.json"})
}

// A host to which a redirect leads orders nothing in the mirror's form either.
func TestARedirectedMirrorOrdersNothing(t *testing.T) {
	order := destruction.Order{Seconds: 1, Gone: []destruction.Gone{{Release: "2026.09"}}}
	for _, wasRead := range []bool{true, false} {
		w, u := upstreamWith(t, bucket.Generation{Number: 1}, of10("2026.09", september()))
		if wasRead {
			w.expect(w.poll(), "data", report.Updated)
		}
		other := &upstream{}
		other.offers(bucket.Generation{Number: 2, Publisher: "test", Destruction: map[string]destruction.Order{"data": order}}, of10("2026.09", september()))
		stranger := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			rw.Header().Set(rings.HeaderUpstream, rings.Upstream)
			other.serveMirror(rw, r)
		}))
		t.Cleanup(stranger.Close)
		u.inFront(func(rw http.ResponseWriter, r *http.Request) {
			http.Redirect(rw, r, stranger.URL+r.URL.Path, http.StatusFound)
		})
		w.poll()
		w.wantOrder(fmt.Sprintf("read before: %t", wasRead), nil)
		if asked := slices.Compact(u.asked()); !slices.Contains(asked, "ManifestReleases") {
			t.Errorf("asked for %v", asked)
		}
		w.serves("data", september())
	}
}
