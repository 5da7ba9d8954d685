//go:build linux

package httpserver

import (
	"crypto/sha256"
	"net/http"
	"sync"

	"golang.org/x/time/rate"
)

// Checking a password takes much CPU by design, and the toolkit checks one at a time.
// So the number of checks is limited, except for clients that are known.
const checksPerSecond, checkBurst = 2, 20

// maxKnown limits the passwords that are remembered.
const maxKnown = 100

// passwords remembers who passed the check of the toolkit. A flood of wrong passwords
// then keeps no known client waiting.
type passwords struct {
	limit *rate.Limiter

	mu    sync.Mutex
	known map[[sha256.Size]byte]bool // of user and password
}

func newPasswords() *passwords {
	return &passwords{limit: rate.NewLimiter(checksPerSecond, checkBurst), known: map[[sha256.Size]byte]bool{}}
}

// limited stands before the check.
func (p *passwords) limited(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if key, given := credentials(r); given && !p.isKnown(key) && !p.limit.Allow() {
			w.Header().Set("Retry-After", "1")
			http.Error(w, "too many passwords to check", http.StatusTooManyRequests)
			return
		}
		next.ServeHTTP(w, r)
	})
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
