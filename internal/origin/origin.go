// Package origin names where requests go: the unit that the Customer ID, and a
// provider's wish to wait, belong to.
package origin

import (
	"net"
	"net/netip"
	"net/url"
	"strings"
)

// Of returns scheme, host and port of a URL in one spelling: lower case, and with
// the scheme's port where the URL has none.
func Of(u *url.URL) string {
	scheme, port := strings.ToLower(u.Scheme), u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[scheme]
	}
	return scheme + "://" + net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}

// IsLoopback is true for a host whose traffic never leaves this machine. Plain
// http is safe there.
func IsLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}
