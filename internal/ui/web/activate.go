package web

import (
	"net/http"

	"golang.org/x/time/rate"

	"syncd/internal/report/request"
)

// activate publishes what is staged, or discards it, after the same checks as a sync. A
// program sends {"manifests": ["…"], "discard": false} and gets 202; the form of the page
// is redirected to the page. To ask a gate again needs access to the data directory.
func activate(w http.ResponseWriter, r *http.Request, source Source, limit *rate.Limiter) {
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	form := isForm(r)
	names, discard, ok := activation(r, form)
	if !ok || discard && len(names) == 0 { // all at once by mistake cannot be undone
		http.Error(w, `body is not JSON such as {"manifests": ["name"], "discard": false}`, http.StatusBadRequest)
		return
	}
	req, notice := request.Activate{Names: names, Discard: discard, Trigger: request.TriggerActivate}, "activated"
	if discard {
		req.Trigger, notice = request.TriggerDiscard, "discarded"
	}
	order{names, form, notice, func() error { return source.TriggerActivation(r.Context(), req) }}.take(w, r, source, limit)
}

// activation reads the names in a request, and whether they are to be discarded.
func activation(r *http.Request, form bool) (names []string, discard, ok bool) {
	if form {
		names, ok = formNames(r)
		return names, r.PostForm.Get("discard") != "", ok
	}
	var body struct {
		Manifests []string `json:"manifests"`
		Discard   bool     `json:"discard"`
	}
	ok = readJSON(r, &body)
	return body.Manifests, body.Discard, ok
}
