//go:build linux

package doctor

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/netip"
	"net/url"
	"syscall"
	"time"
)

// netPatience bounds each step to the provider.
const netPatience = 10 * time.Second

// peer is the host to connect to: the proxy, or else the provider.
func (p *provider) peer() (u *url.URL, isProxy bool) {
	if proxy, err := p.source.Carrier.Proxy(); err == nil && proxy != nil {
		return proxy, true
	}
	return p.cfg.Source.URL, false
}

// address is the host and port of a URL.
func address(u *url.URL) string {
	ports := map[string]string{"https": "443", "socks5": "1080", "socks5h": "1080"}
	return net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), ports[u.Scheme], "80"))
}

// named says which host it is, and where its address comes from.
func (p *provider) named() (what, key string) {
	u, isProxy := p.peer()
	switch {
	case !isProxy:
		return u.Host, p.sourceKey()
	case p.cfg.Source.Proxy != nil:
		return "proxy " + u.Host, p.sourceAt + ".proxy"
	case p.unit != nil:
		return "proxy " + u.Host, "the proxy in the unit's environment"
	}
	return "proxy " + u.Host, "$HTTPS_PROXY or $HTTP_PROXY"
}

// sourceKey is the key that names the provider, or the service of the bucket.
func (s *setup) sourceKey() string {
	if s.isFollower() {
		return s.sourceAt + ".s3.endpoint"
	}
	return s.sourceAt + ".url"
}

// sourceName says what should answer there.
func (s *setup) sourceName() string {
	if s.isFollower() {
		return "an S3 service"
	}
	return "the provider's release service"
}

// askFor names the operator of the source, for a fault that only the source can repair.
func (s *setup) askFor() string {
	if s.isFollower() {
		return "look at the publisher"
	}
	return "tell the provider"
}

func (p *provider) checkNames(ctx context.Context) []Finding {
	if p.cfg.Source.Bundles != "" {
		return p.checkFolder()
	}
	source, err := p.Connect(p.cfg, p.id, p.storage.signAsDaemon)
	if err != nil {
		return []Finding{skipped("not checked, because a file of the configuration cannot be used")}
	}
	p.source = source
	u, _ := p.peer()
	what, key := p.named()
	if _, err := netip.ParseAddr(u.Hostname()); err == nil {
		return []Finding{good("%s is an address", what)}
	}
	ctx, cancel := context.WithTimeout(ctx, netPatience)
	defer cancel()
	addresses, err := net.DefaultResolver.LookupHost(ctx, u.Hostname())
	if err != nil {
		return p.withProxyHint(failure("check the host in "+key+", then the name server in /etc/resolv.conf", "%s: the name cannot be resolved: %v", what, err))
	}
	return []Finding{good("%s has %d address(es)", what, len(addresses))}
}

// withProxyHint adds that this shell uses a proxy and the daemon does not.
func (p *provider) withProxyHint(found Finding) []Finding {
	if p.shellProxy == "" {
		return []Finding{found}
	}
	found.Text += "; this shell uses $" + p.shellProxy + ", the unit does not"
	found.Next = "set " + p.sourceAt + ".proxy, or " + dropIn("Environment="+p.shellProxy+"=…")
	return []Finding{found}
}

func (p *provider) checkConnection(ctx context.Context) []Finding {
	u, _ := p.peer()
	what, key := p.named()
	dialer := net.Dialer{Timeout: netPatience}
	begin := time.Now()
	conn, err := dialer.DialContext(ctx, "tcp", address(u))
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return p.withProxyHint(failure("check host and port in "+key+"; if they are right, the server is down, and syncd tries again by itself", "%s: nothing listens there: %v", what, err))
	case err != nil:
		return p.withProxyHint(failure("check the firewall and the route; if this network needs a proxy, set "+p.sourceAt+".proxy", "%s cannot be reached: %v", what, err))
	}
	conn.Close()
	return []Finding{good("%s answers after %s", what, time.Since(begin).Round(time.Millisecond))}
}
