package syncer

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"syncd/internal/clients/releases"
	"syncd/internal/clients/transport"
	"syncd/internal/manifest"
)

// describe asks what other hosts will want to know about a planned release, so that its
// record has it when it goes live. What cannot be learned now is asked for again by the
// next sync; a release never fails because of it.
func (r *run) describe(ctx context.Context, j *job) error {
	if !r.describes() {
		return nil
	}
	j.told.reuse(j.plan.Files, j.active)
	return r.learn(ctx, &j.told, release{j.target, j.release, j.plan.Files, j.links}, j.share)
}

// describes is true if this sync asks the provider for descriptions. A bucket has them in
// its records.
func (r *run) describes() bool { return r.mayDescribe() && r.cfg.Bucket == nil }

func (r *run) mayDescribe() bool { return r.cfg.Describe && r.lock == nil && !r.req.DryRun }

// release is what is to be described.
type release struct {
	target Target
	name   manifest.Release
	files  []manifest.File
	links  string // fingerprint of the provider's list
}

// learn asks for everything that is not known yet. It returns an error only when the
// context has ended.
func (r *run) learn(ctx context.Context, told *telling, of release, share *releases.Share) error {
	err := r.learnFiles(ctx, told, of)
	if err == nil && len(of.target.Files) == 0 { // single files are in no list of the provider
		err = r.learnLists(ctx, told, of, share)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		r.cfg.Log.Warn().Err(err).Str("manifest", of.target.Name).Msg("the provider's description of the release is incomplete; the next sync asks again")
	}
	told.complete = err == nil
	return nil
}

// learnFiles asks Metadata of each file that it was not asked of. The first question goes
// alone, so that a service that fails is asked once in each sync.
func (r *run) learnFiles(ctx context.Context, told *telling, of release) error {
	lacking := told.lacking(of.files)
	ask := func(ctx context.Context, i int) error { return r.provider.tell(ctx, of.target.Name, told, lacking[i]) }
	if len(lacking) == 0 {
		return nil
	}
	if err := ask(ctx, 0); err != nil {
		return err
	}
	return forAll(ctx, len(lacking)-1, maxRequests, func(ctx context.Context, i int) error { return ask(ctx, i+1) })
}

// learnLists asks for which quarter and two-month period the provider has the same list,
// and how it describes the manifest.
func (r *run) learnLists(ctx context.Context, told *telling, of release, share *releases.Share) error {
	told.aliases = []manifest.Release{}
	for _, alias := range of.name.Aliases() {
		links, _, err := r.listOf(ctx, of.target.Name, alias, share)
		if err != nil {
			return err
		}
		if links != "" && links == of.links {
			told.aliases = append(told.aliases, alias)
		}
	}
	entries, err := r.summaries.of(of.name, func() ([]releases.Entry, error) {
		ctx, cancel := context.WithTimeout(ctx, listTimeout)
		defer cancel()
		return r.provider.manifests(ctx, of.target.Name, of.name)
	})
	if i := slices.IndexFunc(entries, func(e releases.Entry) bool { return e.Name == of.target.Name }); i >= 0 {
		told.summary = entries[i].Description
	}
	return err
}

// listTimeout bounds a request for a list that only a description needs.
const listTimeout = time.Minute

// listOf asks for a list and its fingerprint, "" if the provider has none.
func (r *run) listOf(ctx context.Context, name string, release manifest.Release, share *releases.Share) (links string, files []manifest.File, err error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	defer share.Release()
	list, err := r.provider.files(ctx, release, name, share)
	if isFinal(err) {
		return "", nil, nil
	}
	if err != nil {
		return "", nil, err
	}
	return list.Fingerprint(), list.Files(), nil
}

// isFinal is true for an answer that another attempt would not change.
func isFinal(err error) bool {
	var answer *transport.Error
	return errors.As(err, &answer) && slices.Contains([]transport.Kind{transport.NotFound, transport.Rejected, transport.Malformed}, answer.Kind)
}

// summaries asks for the ManifestList of a release once in a sync.
type summaries struct {
	mu      sync.Mutex // held during the request: others want the same answer
	known   map[manifest.Release][]releases.Entry
	failure map[manifest.Release]error
}

func (s *summaries) of(release manifest.Release, ask func() ([]releases.Entry, error)) ([]releases.Entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil {
		s.known, s.failure = map[manifest.Release][]releases.Entry{}, map[manifest.Release]error{}
	}
	if _, asked := s.known[release]; !asked {
		s.known[release], s.failure[release] = ask()
	}
	if isFinal(s.failure[release]) {
		return nil, nil
	}
	return s.known[release], s.failure[release]
}
