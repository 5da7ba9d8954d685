package web

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"

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
	mux.HandleFunc("GET /api/v1/fleet", func(w http.ResponseWriter, r *http.Request) { fleet(w, r, source) })
	limit := rate.NewLimiter(rate.Every(syncEvery), syncBurst)
	mux.HandleFunc("POST /api/v1/sync", func(w http.ResponseWriter, r *http.Request) { trigger(w, r, source, limit) })
	mux.HandleFunc("POST /api/v1/activate", func(w http.ResponseWriter, r *http.Request) { activate(w, r, source, limit) })
	mux.HandleFunc("POST /api/v1/rollback", func(w http.ResponseWriter, r *http.Request) { rollBack(w, r, source, limit) })
	mux.HandleFunc("POST /api/v1/hold", func(w http.ResponseWriter, r *http.Request) { hold(w, r, source, limit) })
	mux.Handle("GET /{$}", newPages(source, time.Now, views))
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

// trigger queues a sync of the named manifests, of all without a name. A program
// sends {"manifests": ["…"]} and gets 202; the form of the page sends one name and
// is redirected to the page. --force is not offered here: it needs access to the
// data directory.
func trigger(w http.ResponseWriter, r *http.Request, source Source, limit *rate.Limiter) {
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	form := isForm(r)
	names, ok := manifestNames(r, form)
	if !ok {
		http.Error(w, `body is not JSON such as {"manifests": ["name"]}`, http.StatusBadRequest)
		return
	}
	order{names, form, "asked", func() error {
		return source.Trigger(r.Context(), request.Sync{Manifests: names, Demand: true, Trigger: request.TriggerAPI})
	}}.take(w, r, source, limit)
}

// order is a request for work on manifests.
type order struct {
	names  []string
	form   bool   // the form of the page sent it
	notice string // query parameter by which the page says that the order was taken
	pass   func() error
}

// take checks an order, passes it on and answers: a program gets 202, the form of the page
// is redirected to the page.
func (o order) take(w http.ResponseWriter, r *http.Request, source Source, limit *rate.Limiter) {
	if !limit.Allow() {
		w.Header().Set("Retry-After", fmt.Sprint(int(syncEvery.Seconds())))
		http.Error(w, "too many requests: earlier ones are still queued", http.StatusTooManyRequests)
		return
	}
	status, err := source.Status()
	if err != nil {
		answer(w, nil, err)
		return
	}
	if name, found := unknown(status, o.names); found {
		http.Error(w, (&request.UnknownManifestError{Name: name}).Error(), http.StatusNotFound)
		return
	}
	if err := o.pass(); err != nil {
		answer(w, nil, err)
		return
	}
	if o.form {
		http.Redirect(w, r, "/?"+o.notice+"="+url.QueryEscape(append(o.names, "")[0]), http.StatusSeeOther)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusAccepted)
	_, _ = io.WriteString(w, `{"accepted":true}`+"\n")
}

// isForm is true for the form of the page. Content-Type alone does not show that:
// curl sends the type of a form by default.
func isForm(r *http.Request) bool {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && kind == "application/x-www-form-urlencoded" && strings.Contains(r.Header.Get("Accept"), "text/html")
}

// manifestNames reads the names in a request; none means all.
func manifestNames(r *http.Request, form bool) (names []string, ok bool) {
	if form {
		return formNames(r)
	}
	var body struct {
		Manifests []string `json:"manifests"`
	}
	ok = readJSON(r, &body)
	return body.Manifests, ok
}

// formNames reads the name in the form of the page.
func formNames(r *http.Request) (names []string, ok bool) {
	err := r.ParseForm()
	return r.PostForm["manifest"], err == nil && len(r.PostForm["manifest"]) <= 1
}

// readJSON reads the body of a request, which may be empty.
func readJSON(r *http.Request, body any) (ok bool) {
	decoder := json.NewDecoder(r.Body)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(body); err != nil {
		return err == io.EOF
	}
	_, err := decoder.Token()
	return err == io.EOF
}

// unknown returns the first name that is not in the status.
func unknown(status report.Status, names []string) (name string, found bool) {
	for _, name := range names {
		if !slices.ContainsFunc(status.Manifests, func(m report.ManifestStatus) bool { return m.Name == name && m.State != report.StateOrphaned }) {
			return name, true
		}
	}
	return "", false
}
