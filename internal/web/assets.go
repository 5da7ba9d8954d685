package web

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"net/http"
	"time"
)

// asset serves one embedded file. A browser asks each time whether it is still
// the same: another version of syncd may have other files.
func asset(name, contentType string) http.Handler {
	content, err := assets.ReadFile("assets/" + name)
	if err != nil {
		panic(err) // go:embed took it, or it would not have been built
	}
	tag := fmt.Sprintf(`"%x"`, sha256.Sum256(content))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.Header().Set("Cache-Control", "no-cache")
		w.Header().Set("ETag", tag)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
	})
}

// guarded adds to every answer what keeps a browser from doing with it what it is
// not for. A referrer stays within this site: without one, a browser that does not
// tell the site of a post could not prove that its form came from here.
func guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", policy)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cross-Origin-Resource-Policy", "same-origin")
		w.Header().Set("Referrer-Policy", "same-origin")
		next.ServeHTTP(w, r)
	})
}
