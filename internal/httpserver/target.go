//go:build linux

package httpserver

import (
	"net/http"
	"strings"
)

// wellFormed refuses request targets that RFC 9112 does not allow, before anything reads
// them. Servers that accept them disagree about where the path and the query end: a cache
// in front would keep the answer for one file under the name of another.
func wellFormed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isTarget(r.RequestURI) {
			w.Header().Set("Connection", "close")
			http.Error(w, "the request target is not allowed by RFC 9112: percent-encode what is not plain", http.StatusBadRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// isTarget is true for a path with perhaps a query, also behind a scheme and a host, and
// for the asterisk of OPTIONS.
func isTarget(target string) bool {
	if target == "*" {
		return true
	}
	if scheme, rest, found := strings.Cut(target, "://"); found && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https")) {
		end := strings.IndexAny(rest+"/", "/?")
		if !isPlain(rest[:end], "[]") { // an IPv6 address stands in brackets
			return false
		}
		if target = rest[end:]; !strings.HasPrefix(target, "/") {
			target = "/" + target
		}
	}
	path, query, _ := strings.Cut(target, "?")
	return strings.HasPrefix(path, "/") && isPlain(path, "/") && isPlain(query, "/?")
}

// isPlain is true for a text of unreserved characters, delimiters of parts, whole percent
// encodings, and the characters in more (RFC 3986, pchar).
func isPlain(text, more string) bool {
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case isAlphanumeric(c), strings.IndexByte("-._~!$&'()*+,;=:@"+more, c) >= 0:
		case c == '%' && i+2 < len(text) && isHex(text[i+1]) && isHex(text[i+2]):
			i += 2
		default:
			return false
		}
	}
	return true
}

func isAlphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}
