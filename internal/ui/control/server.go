// Package control is the socket by which commands reach the running engine of a
// data directory: HTTP over a Unix socket in the state folder, which only its
// owner may open. Each answer is a stream of JSON lines: progress first, then one
// line with the result or the error.
package control

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"syncd/internal/metrics"
	"syncd/internal/report"
	"syncd/internal/report/request"
)

// progressInterval is how often a stream sends the progress.
const progressInterval = 200 * time.Millisecond

// sendTimeout is how long a client may take to receive a line.
const sendTimeout = 30 * time.Second

// Limits of a request, which can name every manifest of a configuration. A lock file names
// every file.
const (
	maxRequest = 1 << 20
	maxLocked  = 64 << 20
)

// Engine does the work that commands ask for: an engine.Engine or a daemon.Daemon.
// Its methods are safe for concurrent use.
type Engine interface {
	Status() (report.Status, error)
	History(limit int) (report.History, error)
	Progress() report.Snapshot
	Ready(maxAge time.Duration) error
	Alive() error
	Sync(ctx context.Context, req request.Sync) (report.Sync, error)
	Rollback(ctx context.Context, req request.Rollback) (report.Sync, error)
	Activate(ctx context.Context, req request.Activate) (report.Sync, error)
	Order(ctx context.Context, req request.Order) (report.Sync, error)
	Forget(ctx context.Context, req request.Forget) (report.Sync, error)
	Publish(ctx context.Context, req request.Publish) (report.Publication, error)
	Repair(ctx context.Context, req request.Verify) (report.Verification, error)
	Adopt(ctx context.Context, req request.Adopt) (report.Adoption, error)
	Deliveries() (report.Deliveries, error)
	Samples() ([]metrics.Sample, error)
	ChangeDeliveries(ctx context.Context, req request.Deliveries) (report.Deliveries, error)
	FleetStatus() (report.FleetStatus, error)
	ServeRelease(ctx context.Context, req request.ServeRelease) ([]report.Stop, error)
}

// newHandler serves the socket. Work runs under ctx, so it goes on when the command
// that asked for it has ended.
func newHandler(ctx context.Context, e Engine) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, _ *http.Request) {
		status, err := e.Status()
		reply(w, status, err)
	})
	mux.HandleFunc("GET /history", func(w http.ResponseWriter, _ *http.Request) {
		history, err := e.History(report.HistoryLimit)
		reply(w, history, err)
	})
	mux.HandleFunc("GET /deliveries", func(w http.ResponseWriter, _ *http.Request) {
		deliveries, err := e.Deliveries()
		reply(w, deliveries, err)
	})
	mux.HandleFunc("GET /samples", func(w http.ResponseWriter, _ *http.Request) {
		samples, err := e.Samples()
		reply(w, samples, err)
	})
	mux.HandleFunc("GET /fleet", func(w http.ResponseWriter, _ *http.Request) {
		view, err := e.FleetStatus()
		reply(w, view, err)
	})
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, r *http.Request) {
		err := e.Alive()
		if err == nil && r.URL.Query().Has("ready") {
			err = e.Ready(0)
		}
		reply(w, struct{}{}, err)
	})
	mux.HandleFunc("POST /sync", stream(e, maxRequest, func(req request.Sync) (any, error) { return e.Sync(ctx, req) }))
	mux.HandleFunc("POST /sync/locked", stream(e, maxLocked, func(req request.Sync) (any, error) { return e.Sync(ctx, req) }))
	mux.HandleFunc("POST /rollback", stream(e, maxRequest, func(req request.Rollback) (any, error) { return e.Rollback(ctx, req) }))
	mux.HandleFunc("POST /activate", stream(e, maxRequest, func(req request.Activate) (any, error) { return e.Activate(ctx, req) }))
	mux.HandleFunc("POST /order", stream(e, maxRequest, func(req request.Order) (any, error) { return e.Order(ctx, req) }))
	mux.HandleFunc("POST /forget", stream(e, maxRequest, func(req request.Forget) (any, error) { return e.Forget(ctx, req) }))
	mux.HandleFunc("POST /publish", stream(e, maxRequest, func(req request.Publish) (any, error) { return e.Publish(ctx, req) }))
	mux.HandleFunc("POST /repair", stream(e, maxRequest, func(req request.Verify) (any, error) { return e.Repair(ctx, req) }))
	mux.HandleFunc("POST /adopt", stream(e, maxRequest, func(req request.Adopt) (any, error) { return e.Adopt(ctx, req) }))
	mux.HandleFunc("POST /deliveries", stream(e, maxRequest, func(req request.Deliveries) (any, error) { return e.ChangeDeliveries(ctx, req) }))
	mux.HandleFunc("POST /serve-release", stream(e, maxRequest, func(req request.ServeRelease) (any, error) { return e.ServeRelease(ctx, req) }))
	return mux
}

// message is one line of an answer. Exactly one of its members is set.
type message struct {
	Progress *report.Snapshot `json:"progress,omitempty"`
	Result   json.RawMessage  `json:"result,omitempty"`
	Error    *remoteError     `json:"error,omitempty"`
}

func reply(w http.ResponseWriter, value any, err error) {
	w.Header().Set("Content-Type", "application/json")
	_ = send(w, lastMessage(value, err)) // an error means that the client is gone
}

// send sends a line. It fails when the client does not take it.
func send(w http.ResponseWriter, m message) error {
	control := http.NewResponseController(w)
	if err := control.SetWriteDeadline(time.Now().Add(sendTimeout)); err != nil {
		return err
	}
	if err := json.NewEncoder(w).Encode(m); err != nil {
		return err
	}
	return control.Flush()
}

func lastMessage(value any, err error) message {
	if err != nil {
		return message{Error: toRemote(err)}
	}
	data, err := json.Marshal(value)
	if err != nil {
		return message{Error: toRemote(err)}
	}
	return message{Result: data}
}

// stream returns a handler that reads a request, runs work and sends the progress
// meanwhile.
func stream[T any](e Engine, limit int64, work func(T) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var req T
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, limit)).Decode(&req); err != nil {
			http.Error(w, "request is not JSON", http.StatusBadRequest)
			return
		}
		done := make(chan message, 1)
		go func() { done <- lastMessage(work(req)) }()
		for {
			select {
			case last := <-done:
				_ = send(w, last)
				return
			case <-time.After(progressInterval):
				progress := e.Progress()
				if send(w, message{Progress: &progress}) != nil {
					<-done // the client is gone, the work goes on
					return
				}
			}
		}
	}
}

// remoteError is an error as it crosses the socket.
type remoteError struct {
	Text    string `json:"text"`
	Unknown string `json:"unknown_manifest,omitempty"`
}

func toRemote(err error) *remoteError {
	remote := &remoteError{Text: err.Error()}
	var unknown *request.UnknownManifestError
	if errors.As(err, &unknown) {
		remote.Unknown = unknown.Name
	}
	return remote
}

func (e *remoteError) err() error {
	if e.Unknown != "" {
		return &request.UnknownManifestError{Name: e.Unknown}
	}
	return errors.New(e.Text)
}
