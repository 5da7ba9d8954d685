//go:build linux

package httpserver

import "net/http"

// ownPages refuses what pages of other sites load from this server, except as a page of its own.
// They cannot read the answers, but measure how long they take, see whether a file loads, and
// make this server work. It stands before passwords, which a browser adds by itself. Only
// browsers send these headers, and no page can change them.
func ownPages(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		site, dest := r.Header.Get("Sec-Fetch-Site"), r.Header.Get("Sec-Fetch-Dest")
		if (site == "cross-site" || site == "same-site") && dest != "" && dest != "document" {
			w.Header().Set("Cross-Origin-Resource-Policy", "same-origin")
			http.Error(w, "a page of another site asks for this: open the address itself", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}
