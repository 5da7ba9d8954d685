package syncer_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"syncd/internal/clients/releases"
	"syncd/internal/clients/transport"
	"syncd/internal/fetcher"
	"syncd/internal/manifest"
	"syncd/internal/syncer"
	"syncd/internal/syncer/download"
	"syncd/internal/syncer/source"
	"syncd/internal/verify"
)

// moment is a kind of event that a stopper counts.
type moment string

const (
	beforeCall moment = "before a call"   // of the provider or the fetcher
	afterCall  moment = "after an answer" // of them
	atLook     moment = "at a look"       // at the context
	failing    moment = "a call fails"    // and nothing is stopped
)

var errStop = errors.New("told to stop")

// errFailed is a final error of the provider.
var errFailed = &transport.Error{Kind: transport.Rejected, Endpoint: "Test", Status: 400}

// stopper stands between a Syncer and its provider, its fetcher and its context,
// and ends the context at the nth moment of one kind.
type stopper struct {
	source.Provider
	download.Fetcher
	context.Context
	stop   context.CancelCauseFunc
	moment moment
	left   atomic.Int64 // moments until the stop

	mu      sync.Mutex
	fetched []string // names of the files that arrived
}

// stopping returns a Syncer of w that is stopped at the nth moment.
func (w *world) stopping(n int, at moment) (*syncer.Syncer, *stopper) {
	ctx, stop := context.WithCancelCause(context.Background())
	w.Cleanup(func() { stop(nil) })
	s := &stopper{Provider: w.cfg.Provider, Fetcher: w.cfg.Fetcher, Context: ctx, stop: stop, moment: at}
	s.left.Store(int64(n))
	cfg := w.cfg
	cfg.Provider, cfg.Fetcher = s, s
	return syncer.New(cfg, w.progress), s
}

func (s *stopper) count(m moment) {
	if m == s.moment && s.left.Add(-1) == 0 {
		s.stop(errStop)
	}
}

// called counts the start of a call; an error is the result of the call.
func (s *stopper) called() error {
	s.count(beforeCall)
	if s.moment == failing && s.left.Add(-1) == 0 {
		return errFailed
	}
	return nil
}

func (s *stopper) stopped() bool { return s.left.Load() <= 0 }

func (s *stopper) Err() error {
	s.count(atLook)
	return s.Context.Err()
}

func (s *stopper) ManifestReleases(ctx context.Context, name string, since releases.Validators) ([]string, releases.Validators, bool, error) {
	if err := s.called(); err != nil {
		return nil, releases.Validators{}, false, err
	}
	defer s.count(afterCall)
	return s.Provider.ManifestReleases(ctx, name, since)
}

func (s *stopper) Manifest(ctx context.Context, release manifest.Release, name string, share *releases.Share) (*manifest.List, error) {
	if err := s.called(); err != nil {
		return nil, err
	}
	defer s.count(afterCall)
	return s.Provider.Manifest(ctx, release, name, share)
}

func (s *stopper) Hash(ctx context.Context, algorithm manifest.Algorithm, ref manifest.Reference) (manifest.Digest, error) {
	if err := s.called(); err != nil {
		return manifest.Digest{}, err
	}
	defer s.count(afterCall)
	return s.Provider.Hash(ctx, algorithm, ref)
}

func (s *stopper) Metadata(ctx context.Context, ref manifest.Reference) (releases.Metadata, error) {
	if err := s.called(); err != nil {
		return releases.Metadata{}, err
	}
	defer s.count(afterCall)
	return s.Provider.Metadata(ctx, ref)
}

func (s *stopper) Fetch(ctx context.Context, file manifest.File, size int64, watch fetcher.Watcher) (verify.Proven, error) {
	if err := s.called(); err != nil {
		return verify.Proven{}, err
	}
	defer s.count(afterCall)
	fetched, err := s.Fetcher.Fetch(ctx, file, size, watch)
	if err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.fetched = append(s.fetched, file.Reference.Name())
	}
	return fetched, err
}
