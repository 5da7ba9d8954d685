package web

import (
	"net/http"
	"strconv"
	"time"

	"golang.org/x/time/rate"

	"syncd/internal/report/request"
)

// rollBack goes back to the revisions of an earlier generation. A program sends
// {"manifests": ["…"], "generation": 6}; without a generation it is the one before, without
// names all manifests go back. The form of the page names both.
func rollBack(w http.ResponseWriter, r *http.Request, source Source, limit *rate.Limiter) {
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	form := isForm(r)
	req, ok := rollbackIn(r, form)
	if !ok {
		http.Error(w, `body is not JSON such as {"manifests": ["name"], "generation": 6}`, http.StatusBadRequest)
		return
	}
	order{req.Manifests, form, "rolledback", func() error { return source.TriggerRollback(r.Context(), req) }}.take(w, r, source, limit)
}

func rollbackIn(r *http.Request, form bool) (req request.Rollback, ok bool) {
	if !form {
		ok = readJSON(r, &req)
		return req, ok && req.Generation >= 0
	}
	names, ok := formNames(r)
	generation, err := strconv.Atoi(r.PostForm.Get("generation"))
	return request.Rollback{Manifests: names, Generation: generation}, ok && err == nil && generation > 0 && len(names) == 1
}

// hold keeps manifests at the served revision for a duration; 0s ends that. A program sends
// {"manifests": ["…"], "for": "24h"}.
func hold(w http.ResponseWriter, r *http.Request, source Source, limit *rate.Limiter) {
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	form := isForm(r)
	names, span, ok := holdIn(r, form)
	lasts, err := time.ParseDuration(span)
	if !ok || err != nil || lasts < 0 || len(names) == 0 { // all at once by mistake would stop every update
		http.Error(w, `body is not JSON such as {"manifests": ["name"], "for": "24h"}`, http.StatusBadRequest)
		return
	}
	req := request.Order{Manifests: names, Until: time.Now().Add(lasts), Trigger: request.TriggerHold}
	order{names, form, "held", func() error { return source.TriggerOrder(r.Context(), req) }}.take(w, r, source, limit)
}

func holdIn(r *http.Request, form bool) (names []string, span string, ok bool) {
	if form {
		names, ok = formNames(r)
		return names, r.PostForm.Get("for"), ok
	}
	var body struct {
		Manifests []string `json:"manifests"`
		For       string   `json:"for"`
	}
	ok = readJSON(r, &body)
	return body.Manifests, body.For, ok
}
