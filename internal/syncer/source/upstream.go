package source

import (
	"cmp"
	"context"
	"sync"

	"syncd/internal/clients/releases"
	"syncd/internal/downstream/rings"
	"syncd/internal/manifest"
	"syncd/internal/manifest/destruction"
	"syncd/internal/manifest/refusal"
)

// Context returns a context whose requests tell an upstream that is a syncd what this host
// serves and holds of the manifest, and which release it could not take. The answers may say
// what it must destroy.
func (e *Entry) Context(ctx context.Context) context.Context {
	return releases.WithTalk(ctx, releases.Talk{State: []string{e.report("")}, Heard: e.orders.hear})
}

// report is the text of the entry's state. A request that is about many manifests names each.
func (e *Entry) report(manifest string) string {
	s := e.state(e.cfg.Follower.Holding(e.cfg.Held(e.Target.Name)))
	if e.cfg.Tell != nil {
		s = e.cfg.Tell(e.Target.Name, s)
	}
	s.Manifest = manifest
	return s.Header()
}

// Confirm makes one request without use for the answer, so that an upstream that is a syncd
// knows the state of this host at once. A bucket has nobody to tell.
func (e *Entry) Confirm(ctx context.Context) (err error) {
	if e.cfg.Provider == nil && !e.cfg.Bucket.IsHost() {
		return nil
	}
	ctx = e.Context(ctx)
	since := releases.Validators{ETag: e.Saved.ETag, LastModified: e.Saved.LastModified}
	switch {
	case e.isRecorded():
		ctx = releases.WithTalk(ctx, releases.Talk{State: []string{e.report(e.Target.Name)}})
		_, err = e.generation(ctx, e.Target.Name)
	case e.IsChosen():
		_, _, _, err = e.cfg.Provider.FileReleases(ctx, e.Target.Files[0], releases.Validators{})
	default:
		_, _, _, err = e.cfg.Provider.ManifestReleases(ctx, e.Target.Name, since)
	}
	return err
}

// heard is what an upstream said in answers to one entry. Safe for concurrent use.
type heard struct {
	mu    sync.Mutex // guards what follows
	spoke bool
	order destruction.Order
	err   error
}

// hear takes the header of an answer, "" if the upstream orders nothing.
func (h *heard) hear(text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.spoke = true
	h.order, h.err = destruction.ParseHeader(text)
}

func (h *heard) isHeard() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.spoke
}

// noteOrders saves what the upstream wants destroyed of the entry. Without an answer the order
// before stays; one that cannot be used counts as none.
func (e *Entry) noteOrders() {
	e.orders.mu.Lock()
	defer e.orders.mu.Unlock()
	if !e.orders.spoke {
		return
	}
	order := e.orders.order
	if e.IsChosen() { // its files may be of several manifests there, each with its own releases
		order.Gone = nil
	}
	if e.orders.err != nil {
		e.log.Warn().Err(e.orders.err).Str("manifest", e.Target.Name).Msg("the upstream's order to destroy data cannot be used and counts as none")
	}
	e.answer.Saved.Destruction = e.toldBy(order)
}

// toldBy is an order as the state keeps it, nil for none.
func (e *Entry) toldBy(order destruction.Order) *destruction.Told {
	if order.IsZero() {
		return nil
	}
	return &destruction.Told{Source: e.cfg.URL, Order: order}
}

func (q *Question) state(s rings.State) rings.State {
	if q.isServed() {
		s.Release, s.Revision = q.Served.Release, q.Served.Revision
	}
	failure := q.Saved.Failure
	isKept := failure == nil || failure.Reason == string(refusal.Gate) || failure.Reason == string(refusal.Probe)
	switch {
	case isKept && q.Staged.IsQuarantined():
		s.Refused, s.RefusedRevision, s.Reason, s.Attempts = q.Staged.Release, q.Staged.Revision, string(cmp.Or(q.Staged.Verdict.Reason, refusal.Gate)), 1
	case failure != nil && failure.Release != "":
		s.Refused, s.Reason, s.Attempts = manifest.Release(failure.Release), cmp.Or(failure.Reason, rings.ReasonFailed), failure.Count
	}
	return s
}
