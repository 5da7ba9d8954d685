//go:build linux

package doctor

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"sync"

	"syncd/internal/clients/transport"
	"syncd/internal/config"
	"syncd/internal/engine"
)

// checkServices looks whether the addresses of `services`, which `syncd call` uses, are
// those of a server. It asks for no operation and sends no Customer ID.
func (p *provider) checkServices(ctx context.Context) []Finding {
	type address struct {
		key     string
		url     *url.URL
		service config.Service
	}
	var addresses []address
	configured := p.cfg.Services.Configured()
	for _, name := range slices.Sorted(maps.Keys(configured)) {
		s := configured[name]
		if s.URL != nil {
			addresses = append(addresses, address{"services." + name + ".url", s.URL, s})
		}
		if s.JSONPURL != nil {
			addresses = append(addresses, address{"services." + name + ".jsonp_url", s.JSONPURL, s})
		}
	}
	found := make([]Finding, len(addresses))
	var all sync.WaitGroup
	for i, a := range addresses {
		all.Go(func() { found[i] = p.reachService(ctx, a.key, a.url, a.service) })
	}
	all.Wait()
	return orGood(found, "no other service of the provider is configured")
}

// reachService sends a request without an operation: any answer of the server counts, but
// those of a failing one or of a login page.
func (p *provider) reachService(ctx context.Context, key string, to *url.URL, s config.Service) Finding {
	s.URL = to
	settings := engine.ClientConfig(s, "")
	settings.IDParam, settings.UserAgent = "", "syncd/"+p.Version
	settings.StallTimeout, settings.Retry.MaxElapsed = min(s.StallTimeout, netPatience), netPatience/10
	client, err := transport.New(settings)
	if err != nil {
		return skipped("%s was not tried, because a file of the configuration cannot be used", key)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, netPatience)
	defer cancel()
	_, _, err = client.Do(ctx, transport.Request{Endpoint: "Service", Limit: 1 << 20})
	var failed *transport.Error
	var proxy *transport.ProxyError
	status := http.StatusOK
	if errors.As(err, &failed) {
		status = failed.Status
	}
	switch {
	case errors.As(err, &proxy):
		return failing(proxy, "check the proxy")
	case isCertificate(err):
		unreached := p.explainTLS(err)
		unreached.Text = key + " " + to.Host + ": " + unreached.Text
		return unreached
	case err == nil, status > 0 && status < http.StatusInternalServerError:
		return good("%s: %s responds", key, to.Host)
	case status >= http.StatusInternalServerError:
		return failure("try again later; if it lasts, tell the provider", "%s: %v", key, err)
	}
	return failure("check "+key+", the firewall and the route; if this network needs a proxy, set source.proxy", "%s: %s cannot be reached: %v", key, to.Host, err)
}
