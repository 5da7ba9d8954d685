// Package web is the daemon's face on the network: metrics, health, the API.
// TLS and authentication come from the exporter-toolkit file that the
// configuration names, for every path alike.
package web

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	toolkit "github.com/prometheus/exporter-toolkit/web"

	"syncd/internal/syncer"
)

// Limits of what a client may take.
const (
	headerTimeout = 5 * time.Second
	bodyTimeout   = 10 * time.Second
	answerTimeout = time.Minute
	idleTimeout   = 2 * time.Minute
	maxHeader     = 16 << 10
	maxBody       = 64 << 10
)

// Source is what the pages show. Safe for concurrent use.
type Source interface {
	Status() (syncer.Status, error)
	History(limit int) (syncer.History, error)
	Ready(maxAge time.Duration) error
	Alive() error
	Trigger(ctx context.Context, req syncer.Request) error
}

// Handler serves metrics, health and the API.
func Handler(source Source, metrics prometheus.Gatherer) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, r *http.Request) { health(w, source.Alive()) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) { ready(w, r, source) })
	mux.HandleFunc("GET /api/v1/status", func(w http.ResponseWriter, r *http.Request) {
		status, err := source.Status()
		answer(w, status, err)
	})
	mux.HandleFunc("GET /api/v1/history", func(w http.ResponseWriter, r *http.Request) {
		history, err := source.History(syncer.HistoryLimit)
		answer(w, history, err)
	})
	mux.HandleFunc("POST /api/v1/sync", func(w http.ResponseWriter, r *http.Request) { trigger(w, r, source) })
	return http.NewCrossOriginProtection().Handler(mux)
}

func health(w http.ResponseWriter, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	_, _ = io.WriteString(w, "ok\n") // a client that is gone needs no answer
}

func ready(w http.ResponseWriter, r *http.Request, source Source) {
	var maxAge time.Duration
	if text := r.URL.Query().Get("max_age"); text != "" {
		age, err := time.ParseDuration(text)
		if err != nil || age <= 0 {
			http.Error(w, "max_age is not a duration such as 48h", http.StatusBadRequest)
			return
		}
		maxAge = age
	}
	health(w, source.Ready(maxAge))
}

func answer(w http.ResponseWriter, value any, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(value) // a client that is gone needs no answer
}

// trigger queues a sync and answers 202. The body may name manifests, as
// {"manifests": ["…"]}; without one, all are meant. Forcing is left to those who
// can reach the data directory.
func trigger(w http.ResponseWriter, r *http.Request, source Source) {
	var wish struct {
		Manifests []string `json:"manifests"`
	}
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&wish); err != nil && err != io.EOF {
		http.Error(w, `body is not JSON such as {"manifests": ["name"]}`, http.StatusBadRequest)
		return
	}
	status, err := source.Status()
	if err != nil {
		answer(w, nil, err)
		return
	}
	if name := unknown(status, wish.Manifests); name != "" {
		http.Error(w, (&syncer.UnknownManifestError{Name: name}).Error(), http.StatusNotFound)
		return
	}
	if err := source.Trigger(r.Context(), syncer.Request{Manifests: wish.Manifests, Demand: true, Trigger: "api"}); err != nil {
		answer(w, nil, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusAccepted)
	_, _ = io.WriteString(w, `{"accepted":true}`+"\n")
}

// unknown returns the first of names that is not in the status, or "".
func unknown(status syncer.Status, names []string) string {
	configured := map[string]bool{}
	for _, m := range status.Manifests {
		configured[m.Name] = true
	}
	for _, name := range names {
		if !configured[name] {
			return name
		}
	}
	return ""
}

// Serve answers on listener until ctx ends. webConfig is the exporter-toolkit
// file for TLS and authentication, "" for neither.
func Serve(ctx context.Context, listener net.Listener, handler http.Handler, webConfig string, log *slog.Logger) error {
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: headerTimeout, ReadTimeout: bodyTimeout,
		WriteTimeout: answerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
	}
	stop := context.AfterFunc(ctx, func() { server.Close() })
	defer stop()
	err := toolkit.Serve(listener, server, &toolkit.FlagConfig{WebConfigFile: &webConfig}, log)
	if ctx.Err() != nil {
		return nil
	}
	return err
}
