package web

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// answerTo refuses requests for other names than addresses, localhost and names. A web
// page whose own name was made to resolve to this server (DNS rebinding) would read the
// responses otherwise. A request without a name comes from no browser.
func answerTo(names []string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if host := hostOf(r.Host); host != "" && !isAddress(host) && !slices.ContainsFunc(names, func(name string) bool { return plainName(name) == host }) {
			http.Error(w, "this server does not answer to the name in the request's Host: use its address, or add the name to http.hosts", http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// hostOf is the name or address in a Host header, which may have a port.
func hostOf(header string) string {
	if host, _, err := net.SplitHostPort(header); err == nil {
		header = host
	}
	return plainName(strings.TrimSuffix(strings.TrimPrefix(header, "["), "]"))
}

func plainName(name string) string { return strings.ToLower(strings.TrimSuffix(name, ".")) }

func isAddress(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil || host == "localhost"
}
