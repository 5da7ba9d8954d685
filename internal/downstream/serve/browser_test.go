package serve

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// A browser takes no file for a page or a script of this host.
func TestNoAnswerIsTakenForAnotherType(t *testing.T) {
	for _, path := range []string{"/Download/Data/2026.10/page.html", "/-/mirror/current.json", "/"} {
		got := httptest.NewRecorder()
		New(Config{}).ServeHTTP(got, httptest.NewRequest(http.MethodPost, path, nil))
		if got.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %v", path, got.Header())
		}
	}
}
