package source

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"syncd/internal/clients/releases"
	"syncd/internal/clients/transport"
	"syncd/internal/manifest"
	"syncd/internal/mirror"
)

// Describe asks what other hosts will want to know about the planned files, so that their
// record has it when it goes live. What cannot be learned now is asked for again by the
// next sync; a release never fails because of it. The error is the context's.
func (e *Entry) Describe(ctx context.Context, files []manifest.File, links string) error {
	if !e.Describes() || e.isRecorded() {
		return nil
	}
	e.description.reuse(files, e.Served)
	return e.learn(ctx, e.description, described{e.answer.Release, files, links})
}

// described is what is to be described.
type described struct {
	release manifest.Release
	files   []manifest.File
	links   string // fingerprint of the provider's list
}

// learn asks for everything that is not known yet. It returns an error only when the
// context has ended.
func (e *Entry) learn(ctx context.Context, told *Description, of described) error {
	err := e.learnFiles(ctx, told, of)
	if err == nil && !e.IsChosen() { // single files are in no list of the provider
		err = e.learnLists(ctx, told, of)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		e.log.Warn().Err(err).Str("manifest", e.Target.Name).Msg("the provider's description of the release is incomplete; the next sync asks again")
	}
	told.complete = err == nil
	return nil
}

// learnFiles asks Metadata of each file that it was not asked of. The first question goes
// alone, so that a service that fails is asked once in each sync.
func (e *Entry) learnFiles(ctx context.Context, told *Description, of described) error {
	lacking := told.lacking(of.files)
	ask := func(ctx context.Context, i int) error { return e.describe(ctx, e.Target.Name, told, lacking[i]) }
	if len(lacking) == 0 {
		return nil
	}
	if err := ask(ctx, 0); err != nil {
		return err
	}
	return forAll(ctx, len(lacking)-1, func(ctx context.Context, i int) error { return ask(ctx, i+1) })
}

// learnLists asks for which quarter and two-month period the provider has the same list,
// and how it describes the manifest.
func (e *Entry) learnLists(ctx context.Context, told *Description, of described) error {
	told.aliases = []manifest.Release{}
	for _, alias := range of.release.Aliases() {
		links, _, err := e.listFor(ctx, alias)
		if err != nil {
			return err
		}
		if links != "" && links == of.links {
			told.aliases = append(told.aliases, alias)
		}
	}
	entries, err := e.summaries.of(of.release, func() ([]releases.ListedManifest, error) {
		ctx, cancel := context.WithTimeout(ctx, listTimeout)
		defer cancel()
		return e.manifests(ctx, e.Target.Name, of.release)
	})
	if i := slices.IndexFunc(entries, func(m releases.ListedManifest) bool { return m.Name == e.Target.Name }); i >= 0 {
		told.summary = entries[i].Description
	}
	return err
}

// listTimeout bounds a request for a list that only a description needs.
const listTimeout = time.Minute

// listFor asks for the list of another release and its fingerprint, "" if the provider has
// none.
func (e *Entry) listFor(ctx context.Context, release manifest.Release) (links string, files []manifest.File, err error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	defer e.Share.Release()
	list, err := e.listOf(ctx, release, e.Target.Name, e.Share)
	if isFinal(err) {
		return "", nil, nil
	}
	if err != nil {
		return "", nil, err
	}
	return list.Fingerprint(), list.Files(), nil
}

// Complete asks what the record of a served or earlier revision lacks. kept is what
// another generation has of the same revision, which may be more. ErrNothingLearned says that the next
// sync must ask again.
func (e *Entry) Complete(ctx context.Context, record mirror.Record, kept mirror.Record) (mirror.Record, error) {
	return e.kind.complete(ctx, record, kept)
}

// ErrNothingLearned says that a record lacks as much as before.
var ErrNothingLearned = errors.New("the provider told nothing new")

// complete asks the provider what a record lacks.
func (e *Entry) complete(ctx context.Context, record, kept mirror.Record) (mirror.Record, error) {
	before := record
	record.Files = slices.Clone(record.Files)
	of := described{release: record.Release}
	if !e.IsChosen() {
		links, list, err := e.listFor(ctx, record.Release)
		if err != nil {
			return record, err
		}
		of.links = links
		placeInList(record.Files, list)
	}
	for _, f := range record.Files {
		if f.Reference != "" {
			of.files = append(of.files, manifest.File{Reference: f.Reference, Path: f.Path, Expected: f.Expected})
		}
	}
	told := &Description{}
	told.reuse(of.files, before)
	told.reuse(of.files, kept)
	if err := e.learn(ctx, told, of); err != nil {
		return record, err
	}
	told.Fill(&record)
	record.Chosen = e.IsChosen()
	if !told.complete && slices.Equal(record.Files, before.Files) {
		return record, ErrNothingLearned
	}
	return record, nil
}

// placeInList notes the positions of files in the provider's list.
func placeInList(files []mirror.File, list []manifest.File) {
	positions := make(map[manifest.Reference]manifest.File, len(list))
	for _, f := range list {
		positions[f.Reference] = f
	}
	for i := range files {
		if f, found := positions[files[i].Reference]; found {
			files[i].Position, files[i].Slash = f.Position, f.Slash
		}
	}
}

// isFinal is true for an answer that another attempt would not change.
func isFinal(err error) bool {
	var answer *transport.Error
	return errors.As(err, &answer) && slices.Contains([]transport.Kind{transport.NotFound, transport.Rejected, transport.Malformed}, answer.Kind)
}

// summaries asks for the ManifestList of a release once in a sync.
type summaries struct {
	mu      sync.Mutex // held during the request: others want the same answer
	known   map[manifest.Release][]releases.ListedManifest
	failure map[manifest.Release]error
}

func (s *summaries) of(release manifest.Release, ask func() ([]releases.ListedManifest, error)) ([]releases.ListedManifest, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil {
		s.known, s.failure = map[manifest.Release][]releases.ListedManifest{}, map[manifest.Release]error{}
	}
	if _, asked := s.known[release]; !asked {
		s.known[release], s.failure[release] = ask()
	}
	if isFinal(s.failure[release]) {
		return nil, nil
	}
	return s.known[release], s.failure[release]
}
