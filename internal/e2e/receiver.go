package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// HookSecret signs the requests of a webhook.
const HookSecret = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"

// Receiver is a web server that can be down. It verifies each request with the reference
// library.
type Receiver struct {
	Host    *Host
	address string

	mu       sync.Mutex
	server   *http.Server
	Received []received
	attempts int
	status   int
	problem  error
}

// received is an event that was taken.
type received struct {
	ID   string
	body webhookBody
}

type webhookBody struct {
	Type      string
	Timestamp time.Time
	Data      map[string]any
}

// NewReceiver returns a receiver that is down, and writes its secret.
func NewReceiver(h *Host) *Receiver {
	h.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	h.Must(err)
	h.Must(listener.Close())
	h.Write("hook_secret", HookSecret+"\n", 0o600)
	r := &Receiver{Host: h, address: listener.Addr().String(), status: http.StatusOK}
	h.Cleanup(r.down)
	return r
}

func (r *Receiver) url() string { return "http://" + r.address + "/hook/s3cret-path?token=s3cret" }

// Up starts the web server.
func (r *Receiver) Up() {
	r.Host.Helper()
	var listener net.Listener
	r.Host.Eventually("the port of the receiver", func() (free bool) {
		var err error
		listener, err = net.Listen("tcp", r.address)
		return err == nil
	})
	r.server = &http.Server{Handler: r}
	go func() { _ = r.server.Serve(listener) }() // until down
}

func (r *Receiver) down() {
	if r.server != nil {
		r.server.Close()
		r.server = nil
	}
}

// ServeHTTP verifies and keeps an event.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	text, err := io.ReadAll(req.Body)
	hook, _ := standardwebhooks.NewWebhook(HookSecret)
	var body webhookBody
	err = errors.Join(err, hook.Verify(text, req.Header), json.Unmarshal(text, &body))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.attempts++
	r.problem = errors.Join(r.problem, err)
	if r.status < 300 {
		r.Received = append(r.Received, received{req.Header.Get("webhook-id"), body})
	}
	w.WriteHeader(r.status)
}

// Events are the events that were taken, each as "type release".
func (r *Receiver) Events() (events []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.Received {
		events = append(events, fmt.Sprint(strings.TrimPrefix(e.body.Type, "syncd."), " ", e.body.Data["release"]))
	}
	return events
}

// Has is true when the receiver was told that a release of a manifest went live.
func (r *Receiver) Has(manifest, release string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.Received, func(e received) bool {
		return e.body.Type == "syncd.activated" && e.body.Data["manifest"] == manifest && e.body.Data["release"] == release
	})
}

// Wants waits for these events, each with an ID of its own.
func (r *Receiver) Wants(want ...string) {
	r.Host.Helper()
	r.Host.Eventually(fmt.Sprintf("the events %q", want), func() bool { return len(r.Events()) >= len(want) })
	if got := r.Events(); !slices.Equal(got, want) {
		r.Host.Errorf("received %q, want %q", got, want)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.problem != nil {
		r.Host.Errorf("unusable requests: %v", r.problem)
	}
	ids := map[string]bool{}
	for _, e := range r.Received {
		ids[e.ID] = true
	}
	if len(ids) != len(r.Received) || ids[""] {
		r.Host.Errorf("IDs %v of %d events", ids, len(r.Received))
	}
}

// WantsAfterEnds waits for these events where processes ended meanwhile: one whose answer was not
// noted by then comes again with its ID.
func (r *Receiver) WantsAfterEnds(want ...string) {
	r.Host.Helper()
	r.Host.Eventually(fmt.Sprintf("the events %q", want), func() bool {
		r.mu.Lock()
		seen := map[string]bool{}
		r.Received = slices.DeleteFunc(r.Received, func(e received) bool {
			again := seen[e.ID]
			seen[e.ID] = true
			return again
		})
		r.mu.Unlock()
		return len(r.Events()) >= len(want)
	})
	r.Wants(want...)
}

// HookText configures the receiver as a hook for the named events.
func HookText(r *Receiver, on string) string {
	return fmt.Sprintf("hooks:\n  - {name: ops, on: [%s], webhook: %q, secret_file: hook_secret}\n", on, r.url())
}
