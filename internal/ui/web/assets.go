package web

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"net/http"
	"time"
)

// asset serves one embedded file. A browser revalidates it each time, because
// another version of syncd may have other files.
func asset(name, contentType string) http.Handler {
	content, err := assets.ReadFile("assets/" + name)
	if err != nil {
		panic(err) // cannot happen: the build embeds the file
	}
	tag := fmt.Sprintf(`"%x"`, sha256.Sum256(content))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.Header().Set("Cache-Control", "no-cache")
		w.Header().Set("ETag", tag)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
	})
}

// guarded adds security headers to every response. The referrer is kept within this
// site: older browsers send no other proof that a form came from here.
func guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", policy)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cross-Origin-Resource-Policy", "same-origin")
		w.Header().Set("Referrer-Policy", "same-origin")
		next.ServeHTTP(w, r)
	})
}
