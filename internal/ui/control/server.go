package control

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"syncd/internal/engine/operation"
	"syncd/internal/report"
	"syncd/internal/report/request"
)

// progressInterval is how often a stream sends the progress.
const progressInterval = 200 * time.Millisecond

// sendTimeout is how long a client may take to receive a line.
const sendTimeout = 30 * time.Second

// newHandler serves the operations of an engine. Work runs under ctx, so it goes on when
// the command that asked for it has ended.
func newHandler(ctx context.Context, t *operation.Table) http.Handler {
	handlers := t.Handlers()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h, known := handlers[r.Method+" "+r.URL.RequestURI()]
		switch {
		case !known:
			http.NotFound(w, r)
		case h.IsQuery:
			reply(w, lastMessage(h.Do(ctx, nil)))
		default:
			stream(ctx, w, r, h, t.Progress)
		}
	})
}

// message is one line of an answer. Exactly one of its members is set.
type message struct {
	Progress *report.Progress `json:"progress,omitempty"`
	Result   json.RawMessage  `json:"result,omitempty"`
	Error    *remoteError     `json:"error,omitempty"`
}

func reply(w http.ResponseWriter, m message) {
	w.Header().Set("Content-Type", "application/json")
	_ = send(w, m) // an error means that the client is gone
}

// accept sends the head of an answer. It fails when the client does not take it.
func accept(w http.ResponseWriter) error {
	control := http.NewResponseController(w)
	if err := control.SetWriteDeadline(time.Now().Add(sendTimeout)); err != nil {
		return err
	}
	w.WriteHeader(http.StatusOK)
	return control.Flush()
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

// stream reads a request, does the work and sends the progress meanwhile. The answer begins
// first: a client that got nothing knows that no work was begun.
func stream(ctx context.Context, w http.ResponseWriter, r *http.Request, h operation.Handler, progress func() report.Progress) {
	req, err := h.Read(http.MaxBytesReader(w, r.Body, h.MaxRequest))
	if err != nil {
		http.Error(w, "request is not JSON", http.StatusBadRequest)
		return
	}
	if accept(w) != nil {
		return // the client is gone
	}
	done := make(chan message, 1)
	go func() { done <- lastMessage(h.Do(ctx, req)) }()
	for {
		select {
		case last := <-done:
			_ = send(w, last)
			return
		case <-time.After(progressInterval):
			snapshot := progress()
			if send(w, message{Progress: &snapshot}) != nil {
				<-done // the client is gone, the work goes on
				return
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
	if unknown, ok := errors.AsType[*request.UnknownManifestError](err); ok {
		remote.Unknown = unknown.Name
	}
	return remote
}

func (e *remoteError) err() error {
	if e.Unknown != "" {
		return &request.UnknownManifestError{Name: e.Unknown, OfDaemon: true}
	}
	return errors.New(e.Text)
}
