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
	return fixed(content, contentType)
}

// icon is the icon of a level. Its drawing differs, too, for people who see no colours.
func icon(l level) http.Handler {
	color, drawing := "#545c66", "M4 5h7l-2-2M12 11H5l2 2"
	switch l {
	case good:
		color, drawing = "#1a6b35", "M3.5 8.5l3 3 6-7"
	case busy:
		color = "#0b57b0"
	case warn:
		color, drawing = "#8a4b00", "M8 3.5v5.5M8 12v.2"
	case bad:
		color, drawing = "#b3201b", "M4.5 4.5l7 7M11.5 4.5l-7 7"
	}
	return fixed(fmt.Appendf(nil, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="3" fill="%s"/>`+
		`<path d="%s" fill="none" stroke="#fff" stroke-width="1.8" stroke-linecap="round" stroke-linejoin="round"/></svg>`+"\n", color, drawing), "image/svg+xml")
}

// fixed serves content that never changes.
func fixed(content []byte, contentType string) http.Handler {
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
