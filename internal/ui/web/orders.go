package web

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"syncd/internal/report"
	"syncd/internal/report/request"
)

// confirmFor is how long the page confirms an order of one of its forms.
const confirmFor = time.Minute

// intake takes the orders of programs and of the page. Safe for concurrent use.
type intake struct {
	limit *rate.Limiter

	mu    sync.Mutex // guards what follows
	taken map[confirmed]time.Time
}

// confirmed is what the page says of an order. The address of the page alone does not make it
// say so: any site can link to it.
type confirmed struct{ notice, manifest string }

func newIntake() *intake {
	return &intake{limit: rate.NewLimiter(rate.Every(syncEvery), syncBurst), taken: map[confirmed]time.Time{}}
}

// note remembers an order for the page that its form comes back to.
func (n *intake) note(notice, manifest string, now time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	maps.DeleteFunc(n.taken, func(_ confirmed, at time.Time) bool { return now.Sub(at) > confirmFor })
	n.taken[confirmed{notice, manifest}] = now
}

// hasTaken is true if an order of the page came just now.
func (n *intake) hasTaken(notice, manifest string, now time.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	at, found := n.taken[confirmed{notice, manifest}]
	return found && now.Sub(at) <= confirmFor
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
func (o order) take(w http.ResponseWriter, r *http.Request, source Source, to *intake) {
	if !to.limit.Allow() {
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
		to.note(o.notice, append(o.names, "")[0], time.Now())
		http.Redirect(w, r, "/?"+o.notice+"="+url.QueryEscape(append(o.names, "")[0]), http.StatusSeeOther)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusAccepted)
	_, _ = io.WriteString(w, `{"accepted":true}`+"\n")
}

// trigger queues a sync of the named manifests, of all without a name. A program
// sends {"manifests": ["…"]} and gets 202; the form of the page sends one name and
// is redirected to the page. --force is not offered here: it needs access to the
// data directory.
func trigger(w http.ResponseWriter, r *http.Request, source Source, to *intake) {
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	form := isForm(r)
	names, ok := manifestNames(r, form)
	if !ok {
		http.Error(w, `body is not JSON such as {"manifests": ["name"]}`, http.StatusBadRequest)
		return
	}
	order{names, form, "asked", func() error {
		return source.Trigger(r.Context(), request.Sync{Manifests: names, Demand: true, Trigger: request.TriggerAPI})
	}}.take(w, r, source, to)
}

// activate publishes what is staged, or discards it, after the same checks as a sync. A
// program sends {"manifests": ["…"], "discard": false} and gets 202; the form of the page
// also sends the revision that it shows, and is redirected to the page. To ask a gate again needs access to the data directory.
func activate(w http.ResponseWriter, r *http.Request, source Source, to *intake) {
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	form := isForm(r)
	req, ok := activation(r, form)
	if !ok || (req.Discard || req.Revision != "") && len(req.Names) == 0 { // all at once by mistake cannot be undone
		http.Error(w, `body is not JSON such as {"manifests": ["name"], "discard": false}`, http.StatusBadRequest)
		return
	}
	if status, err := source.Status(); err == nil && !waits(status, req) {
		http.Error(w, "another revision waits by now"+outdated, http.StatusConflict)
		return
	}
	notice := "activated"
	if req.Discard {
		req.Trigger, notice = request.TriggerDiscard, "discarded"
	}
	order{req.Names, form, notice, func() error { return source.TriggerActivation(r.Context(), req) }}.take(w, r, source, to)
}

// activation reads the names in a request, whether what waits is to be discarded, and which
// revision the sender saw.
func activation(r *http.Request, form bool) (req request.Activate, ok bool) {
	req.Trigger = request.TriggerActivate
	if form {
		req.Names, ok = formNames(r)
		req.Discard, req.Revision = r.PostForm.Get("discard") != "", r.PostForm.Get("revision")
		return req, ok
	}
	var body struct {
		Manifests []string `json:"manifests"`
		Discard   bool     `json:"discard"`
		Revision  string   `json:"revision"`
	}
	ok = readJSON(r, &body)
	req.Names, req.Discard, req.Revision = body.Manifests, body.Discard, body.Revision
	return req, ok
}

// waits is false if a request names a revision that is no longer the one that waits.
func waits(status report.Status, req request.Activate) bool {
	for _, m := range status.Manifests {
		switch {
		case req.Revision == "" || !slices.Contains(req.Names, m.Name):
		case m.Staged != nil && m.Staged.Revision == req.Revision, m.Quarantined != nil && m.Quarantined.Revision == req.Revision:
		default:
			return false
		}
	}
	return true
}

// rollBack goes back to the revisions of an earlier generation. A program sends
// {"manifests": ["…"], "generation": 6}; without a generation it is the one before, without
// names all manifests go back. The form of the page names both, and the revision that it shows
// as served. To go back to what has expired needs access to the data directory.
func rollBack(w http.ResponseWriter, r *http.Request, source Source, to *intake) {
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	form := isForm(r)
	req, revision, ok := rollbackIn(r, form)
	if !ok {
		http.Error(w, `body is not JSON such as {"manifests": ["name"], "generation": 6}`, http.StatusBadRequest)
		return
	}
	if isOutdated(w, source, req.Manifests, revision) {
		return
	}
	order{req.Manifests, form, "rolledback", func() error { return source.TriggerRollback(r.Context(), req) }}.take(w, r, source, to)
}

func rollbackIn(r *http.Request, form bool) (req request.Rollback, revision string, ok bool) {
	if form {
		names, ok := formNames(r)
		generation, err := strconv.Atoi(r.PostForm.Get("generation"))
		return request.Rollback{Manifests: names, Generation: generation}, r.PostForm.Get("revision"), ok && err == nil && generation > 0 && len(names) == 1
	}
	var body struct {
		Manifests  []string `json:"manifests"`
		Generation int      `json:"generation"`
		Revision   string   `json:"revision"`
	}
	ok = readJSON(r, &body)
	return request.Rollback{Manifests: body.Manifests, Generation: body.Generation}, body.Revision, ok && body.Generation >= 0 && (body.Revision == "" || len(body.Manifests) > 0)
}

// outdated is the rest of an answer to a page or a program that shows an earlier state.
const outdated = " than the one that you saw: go back, load the page again and look at it"

// hold keeps manifests at the served revision for a duration; 0s ends that. A program sends
// {"manifests": ["…"], "for": "24h"}. The form of the page also sends the revision that it
// shows.
func hold(w http.ResponseWriter, r *http.Request, source Source, to *intake) {
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	form := isForm(r)
	names, span, revision, ok := holdIn(r, form)
	lasts, err := time.ParseDuration(span)
	if !ok || err != nil || lasts < 0 || len(names) == 0 { // all at once by mistake would stop every update
		http.Error(w, `body is not JSON such as {"manifests": ["name"], "for": "24h"}`, http.StatusBadRequest)
		return
	}
	if isOutdated(w, source, names, revision) {
		return
	}
	req := request.Order{Manifests: names, Until: time.Now().Add(lasts), Trigger: request.TriggerHold}
	order{names, form, "held", func() error { return source.TriggerOrder(r.Context(), req) }}.take(w, r, source, to)
}

func holdIn(r *http.Request, form bool) (names []string, span, revision string, ok bool) {
	if form {
		names, ok = formNames(r)
		return names, r.PostForm.Get("for"), r.PostForm.Get("revision"), ok
	}
	var body struct {
		Manifests []string `json:"manifests"`
		For       string   `json:"for"`
		Revision  string   `json:"revision"`
	}
	ok = readJSON(r, &body)
	return body.Manifests, body.For, body.Revision, ok
}

// isOutdated refuses an order whose sender saw another revision in service than that of now.
// An empty revision is of a sender that saw none.
func isOutdated(w http.ResponseWriter, source Source, names []string, revision string) bool {
	status, err := source.Status()
	if err != nil || revision == "" || serves(status, names, revision) {
		return false
	}
	http.Error(w, "another revision is served by now"+outdated, http.StatusConflict)
	return true
}

// serves is false if a manifest has another revision in service.
func serves(status report.Status, names []string, revision string) bool {
	return !slices.ContainsFunc(status.Manifests, func(m report.ManifestStatus) bool {
		return slices.Contains(names, m.Name) && m.Revision != revision
	})
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
