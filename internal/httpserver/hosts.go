//go:build linux

package httpserver

import (
	"net/http"
	"net/netip"
	"regexp"
	"slices"
	"strings"
)

// answerTo refuses requests for other names than addresses, localhost and names. A web
// page whose own name was made to resolve to this server (DNS rebinding) would read the
// responses otherwise. A request without a name comes from no browser.
func answerTo(names []string, key string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isAnswered(r.Host, names) {
			http.Error(w, "this server does not answer to the name in the request's Host: use its address, or set the name in "+key, http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// hostForm is a Host header: an IPv6 address in brackets, or an IPv4 address or name
// without, then perhaps a port.
var hostForm = regexp.MustCompile(`^(?:\[([^\[\]]+)\]|([^\[\]:]*))(?::[0-9]*)?$`)

func isAnswered(header string, names []string) bool {
	parts := hostForm.FindStringSubmatch(header)
	if parts == nil {
		return false
	}
	if parts[1] != "" {
		return isIPv6(parts[1])
	}
	_, err := netip.ParseAddr(parts[2])
	host := plainName(parts[2])
	return err == nil || parts[2] == "" || host == "localhost" ||
		slices.ContainsFunc(names, func(name string) bool { return name != "" && plainName(name) == host })
}

// isIPv6 accepts a zone only in a link-local address, which needs one.
func isIPv6(text string) bool {
	address, err := netip.ParseAddr(text)
	return err == nil && address.Is6() && (address.Zone() == "" || address.IsLinkLocalUnicast())
}

func plainName(name string) string { return strings.ToLower(strings.TrimSuffix(name, ".")) }
