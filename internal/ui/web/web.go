package web

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"syncd/internal/metrics"
	"syncd/internal/report"
	"syncd/internal/report/request"
)

// Limits for clients.
const (
	maxBody = 64 << 10

	// A sync on demand asks the provider for all digests again. The limit keeps
	// clients from using up the quota of the Customer ID.
	syncEvery, syncBurst = 10 * time.Second, 100

	maxUnsent = 32 << 20 // bytes of pages and histories on the way to clients
)

// Source provides the data of all paths. Its methods are safe for concurrent use.
type Source interface {
	Status() (report.Status, error)
	History(limit int) (report.History, error)
	DiskUse() (report.DiskUse, error)
	Followers(most int) *report.FleetOverview // nil if none are served
	Fleet(req request.Fleet) (report.FleetPage, error)
	Ready(maxAge time.Duration) error
	Alive() error
	Trigger(ctx context.Context, req request.Sync) error
	TriggerActivation(ctx context.Context, req request.Activate) error
	TriggerRollback(ctx context.Context, req request.Rollback) error
	TriggerOrder(ctx context.Context, req request.Order) error
}

// Handler serves metrics, health, the API and the status page.
func Handler(source Source, series prometheus.Gatherer) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metrics.Handler(series))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, r *http.Request) { health(w, source.Alive()) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) { ready(w, r, source) })
	mux.HandleFunc("GET /api/v1/status", func(w http.ResponseWriter, r *http.Request) {
		status, err := source.Status()
		answer(w, status, err)
	})
	views := newRenderer()
	mux.HandleFunc("GET /api/v1/history", func(w http.ResponseWriter, r *http.Request) {
		views.serve(w, r, "application/json", func() ([]byte, error) {
			history, err := source.History(report.HistoryLimit)
			if err != nil {
				return nil, err
			}
			body, err := json.Marshal(history)
			return append(body, '\n'), err
		})
	})
	mux.HandleFunc("GET /api/v1/fleet", func(w http.ResponseWriter, r *http.Request) { fleet(w, r, source, views) })
	to := newIntake()
	mux.HandleFunc("POST /api/v1/sync", func(w http.ResponseWriter, r *http.Request) { trigger(w, r, source, to) })
	mux.HandleFunc("POST /api/v1/activate", func(w http.ResponseWriter, r *http.Request) { activate(w, r, source, to) })
	mux.HandleFunc("POST /api/v1/rollback", func(w http.ResponseWriter, r *http.Request) { rollBack(w, r, source, to) })
	mux.HandleFunc("POST /api/v1/hold", func(w http.ResponseWriter, r *http.Request) { hold(w, r, source, to) })
	html := newPages(source, to, time.Now, views)
	mux.Handle("GET /{$}", html)
	mux.HandleFunc("GET /fleet", html.hosts)
	mux.Handle("GET /assets/style.css", asset("style.css", "text/css; charset=utf-8"))
	mux.Handle("GET /assets/live.js", asset("live.js", "text/javascript; charset=utf-8"))
	mux.Handle("GET /assets/icon.svg", icon(busy))
	for _, l := range byUrgency {
		mux.Handle("GET /assets/icon-"+string(l)+".svg", icon(l))
	}
	return guarded(http.NewCrossOriginProtection().Handler(mux))
}

func health(w http.ResponseWriter, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	_, _ = io.WriteString(w, "ok\n") // an error means that the client is gone
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
	_ = json.NewEncoder(w).Encode(value) // an error means that the client is gone
}
