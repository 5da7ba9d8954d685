//go:build linux

package httpserver

import (
	"context"
	"crypto/sha256"
	"maps"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"syncd/internal/httpserver/accounts"
)

// Checking a password takes much CPU by design, and the toolkit checks one at a time. So
// the number of checks is limited, except for clients that are known: for each host and
// for each site, which is the IPv6 network of a customer of a provider, or loopback, so that
// none of them takes the checks of all others.
const (
	checksPerSecond, checkBurst   = 2, 20 // of a host
	siteChecks                    = 2     // times those of a host
	allChecksPerSecond, allChecks = 10, 100
	checkPatience                 = 2 * time.Second // how long a client waits for its check when others have many
	siteBits, loopbackBits        = 48, 8
	maxHosts                      = 4096
	maxKnown                      = 100 // passwords that are remembered
)

// passwords remembers who passed the check of the toolkit. A flood of wrong passwords
// then keeps no known client waiting.
type passwords struct {
	all *rate.Limiter

	mu    sync.Mutex
	hosts map[netip.Prefix]*rate.Limiter // of hosts and sites that have sent passwords lately
	known map[[sha256.Size]byte]bool     // of user and password
}

func newPasswords() *passwords {
	return &passwords{
		all:   rate.NewLimiter(allChecksPerSecond, allChecks),
		hosts: map[netip.Prefix]*rate.Limiter{}, known: map[[sha256.Size]byte]bool{},
	}
}

// limited stands before the check.
func (p *passwords) limited(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if key, given := credentials(r); given && !p.isKnown(key) && !p.mayCheck(r) {
			w.Header().Set("Retry-After", "1")
			http.Error(w, "too many passwords to check", http.StatusTooManyRequests)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// mayCheck is false when the client's host has sent too many passwords. When all hosts
// together have, it waits for a while.
func (p *passwords) mayCheck(r *http.Request) bool {
	client, _ := netip.ParseAddrPort(r.RemoteAddr) // as net/http writes it; the zero value counts as one host
	host := accounts.HostOf(client.Addr())
	if !p.allows(host, 1) {
		return false
	}
	if site := siteOf(host.Addr()); site.IsValid() && !p.allows(site, siteChecks) {
		return false
	}
	ctx, cancel := context.WithTimeout(r.Context(), checkPatience)
	defer cancel()
	return p.all.Wait(ctx) == nil
}

// siteOf returns the network of which one user can have every address: all of loopback for
// a user of this host. It is not valid where such a user has but one.
func siteOf(host netip.Addr) (site netip.Prefix) {
	switch {
	case host.Is6():
		site, _ = host.Prefix(siteBits) // the bits fit the address
	case host.IsLoopback():
		site, _ = host.Prefix(loopbackBits)
	}
	return site
}

// allows takes one check of a host or site.
func (p *passwords) allows(of netip.Prefix, share int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	limit := p.hosts[of]
	if limit == nil {
		p.makeRoom()
		limit = rate.NewLimiter(rate.Limit(share*checksPerSecond), share*checkBurst)
		p.hosts[of] = limit
	}
	return limit.Allow()
}

// makeRoom bounds the hosts that are counted. Those that may send a full burst again need
// no count. A flood of more hosts than that takes counts from each other, a quarter at a
// time, because each look at all of them takes long.
func (p *passwords) makeRoom() {
	if len(p.hosts) < maxHosts {
		return
	}
	maps.DeleteFunc(p.hosts, func(_ netip.Prefix, limit *rate.Limiter) bool { return limit.Tokens() >= float64(limit.Burst()) })
	for of := range p.hosts {
		if len(p.hosts) <= maxHosts*3/4 {
			return
		}
		delete(p.hosts, of)
	}
}

// passed stands behind the check.
func (p *passwords) passed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if key, given := credentials(r); given {
			p.remember(key)
		}
		next.ServeHTTP(w, r)
	})
}

func (p *passwords) isKnown(key [sha256.Size]byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.known[key]
}

func (p *passwords) remember(key [sha256.Size]byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.known) >= maxKnown {
		clear(p.known)
	}
	p.known[key] = true
}

// credentials is a digest of the user and the password in a request.
func credentials(r *http.Request) (key [sha256.Size]byte, given bool) {
	user, password, given := r.BasicAuth()
	return sha256.Sum256([]byte(user + ":" + password)), given // a user has no colon
}
