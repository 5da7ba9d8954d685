package value

import (
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"syncd/internal/config/document"
)

// URL accepts an absolute http or https URL with a host and no fragment.
func URL(text string) (*url.URL, *document.Fault) {
	const next = "use a form such as https://releases.example.net"
	u, err := url.Parse(text)
	switch {
	case text == "":
		return nil, document.Refuse("is empty", next)
	case err != nil:
		return nil, document.Refuse("is not a URL", next)
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, document.Refuse("is not an http or https URL", next)
	case u.Opaque != "" || u.Hostname() == "":
		return nil, document.Refuse("has no host", next)
	case u.Port() != "" && !portNumber(u.Port(), 1):
		return nil, document.Refuse("its port is out of range", "use a port from 1 to 65535")
	case strings.Contains(text, "#"):
		return nil, document.Refuse("has a fragment", "remove the # and the text after it")
	}
	return u, nil
}

// Proxy accepts the URL of a proxy, with or without a user part. "" stands for that
// of the environment.
func Proxy(text string) (*url.URL, *document.Fault) {
	const next = "use a form such as http://proxy.example.net:3128"
	if text == "" {
		return nil, nil
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, document.Refuse("is not a URL", next)
	case !slices.Contains([]string{"http", "https", "socks5", "socks5h"}, u.Scheme):
		return nil, document.Refuse("is not an http, https, socks5 or socks5h URL", next)
	case u.Opaque != "" || u.Hostname() == "":
		return nil, document.Refuse("has no host", next)
	case u.Port() != "" && !portNumber(u.Port(), 1):
		return nil, document.Refuse("its port is out of range", "use a port from 1 to 65535")
	case strings.Trim(u.Path, "/") != "" || strings.ContainsAny(text, "#?"):
		return nil, document.Refuse("has more than a host and a port", next)
	}
	return u, nil
}

// Listen accepts host:port, where an empty host means every address. "" turns the
// web server off.
func Listen(text string) (string, *document.Fault) {
	const next = `use host:port such as 127.0.0.1:9797, or "" for no web server`
	if text == "" {
		return "", nil
	}
	host, port, err := net.SplitHostPort(text)
	if err != nil || !portNumber(port, 0) {
		return "", document.Refuse("is not host:port", next)
	}
	if _, err := netip.ParseAddr(host); err != nil && host != "" && !hostPattern.MatchString(host) {
		return "", document.Refuse("its host is neither a name nor an address", next)
	}
	return text, nil
}

func portNumber(text string, low uint64) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	return err == nil && n >= low
}
