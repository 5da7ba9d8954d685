package web

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"golang.org/x/time/rate"

	"syncd/internal/request"
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
	if !limit.Allow() {
		w.Header().Set("Retry-After", fmt.Sprint(int(syncEvery.Seconds())))
		http.Error(w, "too many requests", http.StatusTooManyRequests)
		return
	}
	status, err := source.Status()
	if err != nil {
		answer(w, nil, err)
		return
	}
	if name, found := unknown(status, names); found {
		http.Error(w, (&request.UnknownManifestError{Name: name}).Error(), http.StatusNotFound)
		return
	}
	req, what := request.Activate{Names: names, Discard: discard, Trigger: request.TriggerActivate}, "activated"
	if discard {
		req.Trigger, what = request.TriggerDiscard, "discarded"
	}
	if err := source.TriggerActivation(r.Context(), req); err != nil {
		answer(w, nil, err)
		return
	}
	if form {
		http.Redirect(w, r, "/?"+what+"="+url.QueryEscape(append(names, "")[0]), http.StatusSeeOther)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusAccepted)
	_, _ = io.WriteString(w, `{"accepted":true}`+"\n")
}

// activation reads the names in a request, and whether they are to be discarded.
func activation(r *http.Request, form bool) (names []string, discard, ok bool) {
	if form {
		names, ok = manifestNames(r, true)
		return names, r.PostForm.Get("discard") != "", ok
	}
	var body struct {
		Manifests []string `json:"manifests"`
		Discard   bool     `json:"discard"`
	}
	decoder := json.NewDecoder(r.Body)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&body); err != nil {
		return nil, false, err == io.EOF
	}
	_, err := decoder.Token()
	return body.Manifests, body.Discard, err == io.EOF
}
