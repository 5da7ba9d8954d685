package source

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"syncd/internal/clients/transport"
	"syncd/internal/downstream/rings"
	"syncd/internal/manifest"
	"syncd/internal/manifest/refusal"
)

// Upstream is what the syncs of a configuration know of the host that they follow: whether
// it is a syncd that serves its mirror in the form of a bucket, beside the provider's wire
// format. Earlier versions do not. Safe for concurrent use.
type Upstream struct {
	again time.Duration // between two questions to one that had none

	mu      sync.Mutex // guards what follows
	isNoted bool       // this process looked
	has     bool
	lacking time.Time // until then it is not asked again
	told    int       // reports so far, so that each gets its turn
}

// NewUpstream returns an Upstream that is asked for its mirror at most so often while it has
// none.
func NewUpstream(again time.Duration) *Upstream { return &Upstream{again: again} }

// hasMirror is true if it has a mirror, as far as this process or an earlier one knows.
func (u *Upstream) hasMirror(isKnown bool) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.has || !u.isNoted && isKnown
}

func (u *Upstream) mayHaveMirror(now time.Time) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.has || now.After(u.lacking) || u.lacking.Sub(now) > u.again // the clock was set back
}

// note notes whether it has a mirror, and is true if that is news.
func (u *Upstream) note(has bool, now time.Time) (isNews bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	isNews = u.has != has || !has && now.After(u.lacking)
	u.isNoted = true
	if u.has = has; !has {
		u.lacking = now.Add(u.again)
	}
	return isNews
}

// next returns the reports that the next request carries.
func (u *Upstream) next(all []string) (lines []string) {
	if len(all) == 0 {
		return nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	size, first := 0, u.told%len(all)
	for _, line := range slices.Concat(all[first:], all[:first]) {
		if size += len(rings.HeaderState) + len(": \r\n") + len(line); size > rings.MaxStateText || len(lines) == rings.MaxStates {
			break
		}
		lines = append(lines, line)
	}
	if u.told = 0; len(lines) < len(all) {
		u.told = first + len(lines)
	}
	return lines
}

// reports are the states of the entries of one sync that a mirror can have. Safe for
// concurrent use.
type reports struct {
	mu   sync.Mutex
	text []string
}

func (r *reports) add(line string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.text = append(r.text, line)
}

func (r *reports) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.text)
}

// fitsMirror is true for an entry that the mirror of an upstream can have. Its records name
// contents by their SHA-256, and what is latest of whole manifests.
func (e *Entry) fitsMirror() bool {
	return !e.IsChosen() && e.Target.Release == manifest.Latest && e.cfg.Algorithm == manifest.SHA256
}

// mayEnterMirror is true if the upstream said in the wire format that it is a syncd, and may
// have a mirror.
func (e *Entry) mayEnterMirror() bool {
	_, isOnWire := e.kind.(*manifestKind)
	return isOnWire && e.cfg.Bucket != nil && e.fitsMirror() && e.orders.isHeard() && e.cfg.Upstream.mayHaveMirror(e.Now)
}

// enterMirror goes on with the upstream's mirror, if that has the entry. Until the upstream is
// known to have a mirror, whatever stands in its place is none.
func (e *Entry) enterMirror(ctx context.Context) (err error) {
	wire, answer := e.kind, e.answer
	e.kind, e.answer = &bucketKind{Entry: e}, Answer{Saved: e.Saved}
	e.answer.Release, err = e.kind.release(ctx)
	switch {
	case err == nil:
		e.cfg.Upstream.note(true, e.Now)
		wire.drop()
		return nil
	case errors.Is(err, errNotOffered):
	case isFinal(err) || isWithoutMirror(err) || refusal.ReasonOf(err) != "":
		if e.cfg.Upstream.note(false, e.Now) {
			e.log.Info().Err(err).Msg("the upstream is a syncd without a mirror that can be read: going on in the wire format of the provider")
		}
	default:
		return err
	}
	e.kind, e.answer = wire, answer
	return nil
}

// lacksMirror is true if the upstream has the entry in the provider's wire format only, or
// has no mirror any more.
func (e *Entry) lacksMirror(err error) bool {
	if _, isInMirror := e.kind.(*bucketKind); !isInMirror || e.provider == nil {
		return false
	}
	return errors.Is(err, errNotOffered) || isWithoutMirror(err)
}

// isWithoutMirror is true for the answer of a server that has no mirror. Whatever else than a
// syncd answers has none: a front server that forbids such paths, or the provider.
func isWithoutMirror(err error) bool {
	var answer *transport.Error
	if !errors.As(err, &answer) || answer.Endpoint != "Current" {
		return false
	}
	return answer.Kind == transport.NotFound || answer.Kind != transport.Transient && !answer.IsUpstream
}

// leaveMirror goes on in the wire format of the provider.
func (e *Entry) leaveMirror(ctx context.Context, why error) (err error) {
	if isWithoutMirror(why) && e.cfg.Upstream.note(false, e.Now) {
		e.log.Warn().Err(why).Msg("the upstream has no mirror any more: going on in the wire format of the provider")
	}
	e.kind, e.answer = &manifestKind{Entry: e}, Answer{Saved: e.Saved}
	e.answer.Saved.KeptOut = "" // lists show what this host has taken
	e.answer.Release, err = e.kind.release(ctx)
	return err
}
