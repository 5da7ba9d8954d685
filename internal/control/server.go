// Package control is the socket in the state folder by which commands reach the
// process that holds a data directory: HTTP over a Unix socket that only its
// owner may open. What takes long answers with a stream of JSON lines, progress
// first and the result last.
package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"syncd/internal/report"
	"syncd/internal/request"
)

// socketName is the socket's name in the state folder.
const socketName = "syncd.sock"

// progressInterval is how often a stream tells the progress.
const progressInterval = 200 * time.Millisecond

// Holder is the process's side: the work that commands may ask for. Its methods
// are safe for concurrent use and do one piece of work at a time.
type Holder interface {
	Status() (report.Status, error)
	History(limit int) (report.History, error)
	Progress() report.Snapshot
	Ready(maxAge time.Duration) error
	Alive() error
	Sync(ctx context.Context, req request.Sync) (report.Sync, error)
	Rollback(ctx context.Context, req request.Rollback) (report.Sync, error)
	Repair(ctx context.Context, req request.Verify) (report.Verification, error)
}

// Listen opens the socket in the state folder of the data directory that the
// caller has locked; one that a crash left is replaced.
func Listen(stateDir string) (net.Listener, error) {
	path, closeDir, err := shortPath(stateDir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = closeDir() }()
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("control socket: %w", err)
	}
	listener.SetUnlinkOnClose(false) // its path goes through a descriptor that is closed by then
	if err := os.Chmod(path, 0o600); err != nil {
		listener.Close()
		return nil, fmt.Errorf("control socket: %w", err)
	}
	return &ownListener{Listener: listener, path: filepath.Join(stateDir, socketName)}, nil
}

// ownListener removes its socket when it closes.
type ownListener struct {
	net.Listener
	path string
}

func (l *ownListener) Close() error {
	os.Remove(l.path)
	return l.Listener.Close()
}

// shortPath names the socket by way of its folder's descriptor: the address of a
// Unix socket holds 107 bytes, less than many a data directory's path.
func shortPath(stateDir string) (path string, closeDir func() error, err error) {
	dir, err := os.Open(stateDir)
	if err != nil {
		return "", nil, err
	}
	return fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), socketName), dir.Close, nil
}

// Handler serves the socket. Work goes on under ctx when the command that asked
// for it is gone.
func Handler(ctx context.Context, h Holder) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, r *http.Request) {
		status, err := h.Status()
		answer(w, status, err)
	})
	mux.HandleFunc("GET /history", func(w http.ResponseWriter, r *http.Request) {
		history, err := h.History(report.HistoryLimit)
		answer(w, history, err)
	})
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, r *http.Request) {
		err := h.Alive()
		if err == nil && r.URL.Query().Has("ready") {
			err = h.Ready(0)
		}
		answer(w, struct{}{}, err)
	})
	mux.HandleFunc("POST /sync", stream(h, func(req request.Sync) (any, error) { return h.Sync(ctx, req) }))
	mux.HandleFunc("POST /rollback", stream(h, func(req request.Rollback) (any, error) { return h.Rollback(ctx, req) }))
	mux.HandleFunc("POST /repair", stream(h, func(req request.Verify) (any, error) { return h.Repair(ctx, req) }))
	return mux
}

// message is one line of a stream, or the whole of a short answer: exactly one
// of its members is set.
type message struct {
	Progress *report.Snapshot `json:"progress,omitempty"`
	Result   json.RawMessage  `json:"result,omitempty"`
	Error    *remoteError     `json:"error,omitempty"`
}

func answer(w http.ResponseWriter, value any, err error) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(result(value, err)) // the other side is gone: nobody to tell
}

func result(value any, err error) message {
	if err != nil {
		return message{Error: toRemote(err)}
	}
	data, err := json.Marshal(value)
	if err != nil {
		return message{Error: toRemote(err)}
	}
	return message{Result: data}
}

// stream reads a request, does the work and tells its progress meanwhile.
func stream[T any](h Holder, work func(T) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var req T
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
			http.Error(w, "request is not JSON", http.StatusBadRequest)
			return
		}
		done := make(chan message, 1)
		go func() { done <- result(work(req)) }()
		encoder := json.NewEncoder(w)
		for {
			select {
			case last := <-done:
				_ = encoder.Encode(last)
				return
			case <-time.After(progressInterval):
				now := h.Progress()
				if encoder.Encode(message{Progress: &now}) != nil {
					<-done // nobody listens any more: the work goes on
					return
				}
				_ = http.NewResponseController(w).Flush()
			}
		}
	}
}

// remoteError is an error that crossed the socket.
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
