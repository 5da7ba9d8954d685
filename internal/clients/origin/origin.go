package origin

import (
	"cmp"
	"net"
	"net/netip"
	"net/url"
	"strings"
)

// Of returns the origin of a URL in lower case. Without a port in the URL it has the
// scheme's default port.
func Of(u *url.URL) string {
	scheme, port := strings.ToLower(u.Scheme), u.Port()
	port = cmp.Or(port, map[string]string{"http": "80", "https": "443"}[scheme])
	return scheme + "://" + net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}

// IsLoopback is true for a host whose traffic never leaves this machine, so that plain
// http is safe.
func IsLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}
