package bundles

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"syncd/internal/clients/transport"
	"syncd/internal/downstream/believer"
	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/bundle"
	"syncd/internal/downstream/follower"
	"syncd/internal/downstream/trust"
	"syncd/internal/manifest"
	"syncd/internal/manifest/refusal"
	"syncd/internal/mirror/record"
	"syncd/internal/store"
)

// Store keeps what the last bundle said.
type Store interface {
	Carried() (store.Carried, error)
	SetCarried(c store.Carried) error
}

// Records are those of the revisions on disk.
type Records interface {
	Revision(name, id string) (record.Record, error)
}

// Config is what Open needs.
type Config struct {
	Store   Store
	Records Records
	Objects follower.Opener // of this host
	// Client carries the requests to a bundle. Its base and its carrier are set here.
	Client   transport.Config
	Believer *believer.Believer // nil without a trust file
	Relay    *follower.Relay    // keeps what is believed, for those who follow this host; nil for nothing
	// Force takes a bundle that is older than the last one, or of another publisher.
	Force bool
}

// MayBelieve says why a bundle that isUnsigned would not be believed.
func (c Config) MayBelieve(isUnsigned bool) error {
	switch {
	case c.Believer != nil && isUnsigned:
		return refusal.New(refusal.Unsigned, "--unsigned is not for a host with source.trust_file, which believes signed bundles only")
	case c.Believer == nil && !isUnsigned:
		return refusal.New(refusal.Unsigned, "nothing proves who made the bundle: set source.trust_file, or add --unsigned if the disk never left trusted hands")
	}
	return nil
}

// OpenFiles opens the bundle in files, all of which it reads and proves.
func OpenFiles(ctx context.Context, paths []string, cfg Config) (*Source, error) {
	return openFiles(ctx, paths, bundle.Whole, cfg)
}

func openFiles(ctx context.Context, paths []string, how bundle.Reading, cfg Config) (*Source, error) {
	files, closeFiles, err := bundle.OpenFiles(paths)
	if err != nil {
		return nil, err
	}
	b, err := bundle.Open(ctx, files, how)
	if err == nil {
		var s *Source
		if s, err = Open(b, cfg, closeFiles); err == nil {
			return s, nil
		}
	}
	closeFiles()
	return nil, err
}

// Source is a bundle as a source of a sync. It offers what the bundle has; of manifests that it
// leaves out it offers what the bundle before did. Safe for concurrent use.
type Source struct {
	Bundle *bundle.Bundle // nil for none
	Client *follower.Client

	failed  error // why the bundle cannot be used; nil if it can
	cfg     Config
	offered []bucket.Manifest // by the bundles before
	carried store.Carried
	close   func()

	isBelieved atomic.Bool // a sync was told what the bundle offers
}

// retries of reading a file: its bytes are there, or a copy of the bundle is needed.
var retries = transport.Retry{InitialInterval: 100 * time.Millisecond, MaxInterval: time.Second, MaxElapsed: 5 * time.Second}

// Open opens a bundle, which may be nil: then the source offers what was offered before. It
// closes the files of the bundle with Close.
func Open(b *bundle.Bundle, cfg Config, closeFiles func()) (*Source, error) {
	s := &Source{Bundle: b, cfg: cfg, close: closeFiles}
	var err error
	if s.carried, err = cfg.Store.Carried(); err != nil {
		return nil, err
	}
	if len(s.carried.Offered) > 0 {
		if err := json.Unmarshal(s.carried.Offered, &s.offered); err != nil {
			return nil, fmt.Errorf("what the last bundle offered: %w", err)
		}
	}
	if b == nil {
		return s, nil
	}
	if err := s.checkPast(); err != nil {
		return nil, err
	}
	settings := cfg.Client
	settings.Base, settings.Carrier, settings.Retry, settings.IDParam, settings.Sign, settings.Report = bundle.Base(), b, retries, "", nil, false
	carrier, err := transport.New(settings)
	if err != nil {
		return nil, err
	}
	s.Client = follower.New(carrier)
	s.Client.Believe(cfg.Believer, believer.Serving)
	s.Client.Keep(cfg.Relay)
	s.Client.Patch(cfg.Objects, transport.MinRate{})
	return s, nil
}

// Broken returns a source of which each manifest fails, because its bundle cannot be used.
func Broken(why error) *Source { return &Source{failed: why, close: func() {}} }

// Close closes the bundle.
func (s *Source) Close() {
	if s.Client != nil {
		s.Client.Close()
	}
	s.close()
}

// checkPast refuses a bundle that does not follow the last one. With a trust file, signatures
// decide.
func (s *Source) checkPast() error {
	before, now := s.carried, s.Bundle.Current
	if s.cfg.Force || s.cfg.Believer != nil || before.Generation == 0 {
		return nil
	}
	name := s.Bundle.Volumes[0].Name
	if publisher := s.Bundle.Generation.Publisher; publisher != before.Publisher {
		return refusal.New(refusal.WrongOrigin, "bundle %s: it is of the publisher %s, and the last bundle was of %s; --force takes it", name, publisher, before.Publisher)
	}
	if now.Generation < before.Generation {
		return refusal.New(refusal.UpstreamRollback, "bundle %s: its generation %d is older than %d, which was imported before; --force takes it", name, now.Generation, before.Generation)
	}
	return nil
}

// Generation returns what is offered.
func (s *Source) Generation(ctx context.Context) (bucket.Generation, error) {
	switch {
	case s.failed != nil:
		return bucket.Generation{}, s.failed
	case s.Bundle == nil && s.carried.Generation == 0:
		return bucket.Generation{}, errors.New("no whole bundle is in source.bundles yet")
	case s.Bundle == nil && s.cfg.Believer != nil && s.cfg.Believer.Fresh() != nil:
		return bucket.Generation{}, s.cfg.Believer.Fresh()
	case s.Bundle == nil:
		return bucket.Generation{Number: s.carried.Generation, Publisher: s.carried.Publisher, Manifests: s.offered, Destruction: s.carried.Orders}, nil
	}
	g, err := s.Client.Generation(ctx)
	if err != nil {
		return g, err
	}
	s.isBelieved.Store(true)
	g.Manifests = s.offers(g.Manifests)
	return g, nil
}

// offers are the manifests of a generation with what is offered of each.
func (s *Source) offers(manifests []bucket.Manifest) (offers []bucket.Manifest) {
	for _, m := range manifests {
		if s.Bundle.HasRecord(m) {
			offers = append(offers, m)
		} else if i := slices.IndexFunc(s.offered, func(before bucket.Manifest) bool { return before.Name == m.Name }); i >= 0 {
			offers = append(offers, s.offered[i])
		}
	}
	return offers
}

// Record returns a record of the bundle, or of a revision on disk that a bundle before had.
func (s *Source) Record(ctx context.Context, m bucket.Manifest) (record.Record, error) {
	if s.Bundle != nil && s.Bundle.HasRecord(m) {
		return s.Client.Record(ctx, m)
	}
	read, err := s.cfg.Records.Revision(m.Name, string(m.Release)+"-"+m.Revision)
	if err != nil {
		return record.Record{}, fmt.Errorf("no bundle with release %s of %s is there any more: import it again: %w", m.Release, m.Name, err)
	}
	return bucket.RecordOf(read), nil
}

// Expect looks for patches in the bundle.
func (s *Source) Expect(ctx context.Context, m bucket.Manifest, files []record.File) {
	if s.Bundle != nil && s.Bundle.HasRecord(m) {
		s.Client.Expect(ctx, m, files)
	}
}

// IsKnown is false: nothing is kept of what an earlier process read.
func (s *Source) IsKnown() bool { return false }

// IsHost is false: no disk wants to know how this host is doing.
func (s *Source) IsHost() bool { return false }

// Download opens a content of the bundle.
func (s *Source) Download(ctx context.Context, file manifest.File, header http.Header, isBulk bool) (*transport.Response, error) {
	if s.Client == nil {
		return nil, errors.New("the bundle with this content is not there any more: put it back, or import it again")
	}
	return s.Client.Download(ctx, file, header, isBulk)
}

// Retry runs op again after a fault of the disk.
func (s *Source) Retry(ctx context.Context, op func(progress func()) error) error {
	if s.Client == nil {
		return op(func() {})
	}
	return s.Client.Retry(ctx, op)
}

// Names are those of some manifests that the bundle has.
func (s *Source) Names(wanted []string) (names []string) {
	for _, name := range wanted {
		if m, found := s.Bundle.Generation.Manifest(name); found && s.Bundle.HasRecord(m) {
			names = append(names, name)
		}
	}
	return names
}

// maxTaken bounds the bundles of one generation that are known as taken.
const maxTaken = 64

// Taken notes that a sync took what the bundle offers, unless the bundle was refused.
func (s *Source) Taken() error {
	if s.Bundle == nil || !s.isBelieved.Load() {
		return nil
	}
	offered, err := json.Marshal(s.offers(s.Bundle.Generation.Manifests))
	if err != nil {
		return err
	}
	g := s.Bundle.Generation
	now := store.Carried{Publisher: g.Publisher, Generation: g.Number, Offered: offered, Orders: g.Destruction, IDs: []manifest.ObjectID{s.Bundle.ID}}
	if s.carried.Generation == now.Generation {
		earlier := slices.DeleteFunc(slices.Clone(s.carried.IDs), func(id manifest.ObjectID) bool { return id == s.Bundle.ID })
		now.IDs = slices.Concat(earlier[max(0, len(earlier)-maxTaken):], now.IDs)
	}
	return s.cfg.Store.SetCarried(now)
}

// Issued is when the bundle of which a sync took what it offers was made at the earliest; the zero
// time for none. With a trust file, only a signed time counts.
func (s *Source) Issued() time.Time {
	if s.Bundle == nil || !s.isBelieved.Load() {
		return time.Time{}
	}
	if s.cfg.Believer == nil {
		return s.Bundle.Current.PublishedAt
	}
	signed, err := trust.ParseStatement([]byte(s.Bundle.Current.Statement)) // it was believed
	if err != nil {
		return time.Time{}
	}
	return signed.Issued
}

// Titles names the manifests of a bundle, for errors.
func Titles(b *bundle.Bundle) string {
	var names []string
	for _, m := range b.Generation.Manifests {
		if b.HasRecord(m) {
			names = append(names, m.Name)
		}
	}
	return strings.Join(names, ", ")
}
