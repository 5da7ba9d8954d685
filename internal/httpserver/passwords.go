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
	checksOfHost, allChecksAtOnce = 2, 16           // that wait or run; they take as long as the hash's cost says
	siteBits, loopbackBits        = 48, 8
	maxHosts                      = 4096
	maxKnown                      = 100 // passwords that are remembered
)

// passwords remembers who passed the check of the toolkit. A flood of wrong passwords
// then keeps no known client waiting.
type passwords struct {
	all *checks

	mu    sync.Mutex
	hosts map[netip.Prefix]*checks   // of hosts and sites that have sent passwords lately
	known map[[sha256.Size]byte]bool // of user and password
}

// checks are those of a host, of a site, or of all. A rate alone does not bound how many wait
// for the one that runs: with a hash of a high cost, each takes a second.
type checks struct {
	rate *rate.Limiter
	held chan struct{} // by those that wait or run
}

func newChecks(perSecond, burst, atOnce int) *checks {
	return &checks{rate.NewLimiter(rate.Limit(perSecond), burst), make(chan struct{}, atOnce)}
}

func newPasswords() *passwords {
	return &passwords{
		all:   newChecks(allChecksPerSecond, allChecks, allChecksAtOnce),
		hosts: map[netip.Prefix]*checks{}, known: map[[sha256.Size]byte]bool{},
	}
}

// checkKey is that of the function that ends a check, in the context of its request.
type checkKey struct{}

// limited stands before the check.
func (p *passwords) limited(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key, given := credentials(r)
		if !given || p.isKnown(key) {
			next.ServeHTTP(w, r)
			return
		}
		end, ok := p.beginCheck(r)
		if !ok {
			w.Header().Set("Retry-After", "1")
			http.Error(w, "too many passwords to check", http.StatusTooManyRequests)
			return
		}
		defer end()
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), checkKey{}, end)))
	})
}

// beginCheck is false when the client's host has sent too many passwords. It waits for a while
// for checks under way, and when all hosts together have sent too many. Otherwise the caller
// calls end once or more.
func (p *passwords) beginCheck(r *http.Request) (end func(), ok bool) {
	client, _ := netip.ParseAddrPort(r.RemoteAddr) // as net/http writes it; the zero value counts as one host
	host := accounts.HostOf(client.Addr())
	needed := []*checks{p.of(host, 1)}
	if site := siteOf(host.Addr()); site.IsValid() {
		needed = append(needed, p.of(site, siteChecks))
	}
	for _, of := range needed {
		if !of.rate.Allow() {
			return nil, false
		}
	}
	ctx, cancel := context.WithTimeout(r.Context(), checkPatience)
	defer cancel()
	var held []*checks
	end = sync.OnceFunc(func() {
		for _, of := range held {
			<-of.held
		}
	})
	for _, of := range append(needed, p.all) { // a host waits for its own checks first
		select {
		case of.held <- struct{}{}:
			held = append(held, of)
		case <-ctx.Done():
			end()
			return nil, false
		}
	}
	if p.all.rate.Wait(ctx) != nil {
		end()
		return nil, false
	}
	return end, true
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

// of returns the checks of a host or site.
func (p *passwords) of(client netip.Prefix, share int) *checks {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.hosts[client] == nil {
		p.makeRoom()
		p.hosts[client] = newChecks(share*checksPerSecond, share*checkBurst, share*checksOfHost)
	}
	return p.hosts[client]
}

// makeRoom bounds the hosts that are counted. Those that may send a full burst again need
// no count. A flood of more hosts than that takes counts from each other, a quarter at a
// time, because each look at all of them takes long.
func (p *passwords) makeRoom() {
	if len(p.hosts) < maxHosts {
		return
	}
	maps.DeleteFunc(p.hosts, func(_ netip.Prefix, of *checks) bool {
		return of.rate.Tokens() >= float64(of.rate.Burst()) && len(of.held) == 0
	})
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
		if end, ok := r.Context().Value(checkKey{}).(func()); ok {
			end()
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
