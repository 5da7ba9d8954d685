package transport

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
)

// proxyFor returns the proxy for a request, or nil for none.
func (c *Client) proxyFor(request *http.Request) (*url.URL, error) {
	if c.cfg.Proxy != nil {
		return c.cfg.Proxy, nil
	}
	return http.ProxyFromEnvironment(request)
}

// Proxy returns the proxy for requests to the base, or nil for none.
func (c *Client) Proxy() (*url.URL, error) {
	return c.proxyFor(&http.Request{URL: c.cfg.Base})
}

// ProxyError says that a proxy refused to connect to the provider.
type ProxyError struct {
	Proxy  string // without user part
	Status int
}

func (e *ProxyError) Error() string {
	text := fmt.Sprintf("the proxy %s refused the connection with status %d %s", e.Proxy, e.Status, http.StatusText(e.Status))
	if e.Status == http.StatusProxyAuthRequired {
		return text + ": check the user and password in the proxy's address"
	}
	return text + ": check that it permits connections to the provider"
}

// checkProxy names the proxy in the error for a refused connection. The texts of the
// proxy itself are left out, because they can repeat its password.
func checkProxy(_ context.Context, proxy *url.URL, _ *http.Request, answer *http.Response) error {
	if answer.StatusCode == http.StatusOK {
		return nil
	}
	return &ProxyError{Proxy: PublicURL(proxy), Status: answer.StatusCode}
}
