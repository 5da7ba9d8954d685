package serve

import (
	"cmp"
	"context"
	"net/http"
	"os"
	"strings"
	"time"

	"syncd/internal/downstream/catalog"
	"syncd/internal/downstream/generations"
	"syncd/internal/downstream/patches"
	"syncd/internal/downstream/rings"
	"syncd/internal/host/rate"
	"syncd/internal/httpserver/accounts"
	"syncd/internal/manifest"
	"syncd/internal/manifest/destruction"
)

// Catalog knows what may be served. Safe for concurrent use.
type Catalog interface {
	Snapshot() *catalog.Snapshot
	// Asked keeps a revision downloadable for some time, because a follower uses it. It is
	// false if it is about to be removed, so that there is none.
	Asked(ctx context.Context, r *catalog.Revision, follower string) bool
	// Open fails with fs.ErrNotExist if the object was pruned a moment ago.
	Open(f catalog.File) (*os.File, error)
}

// Asker is a follower with a request.
type Asker interface {
	// Sees is false for a revision that the follower's ring does not see yet.
	Sees(r *catalog.Revision) bool
	// Polls notes that the follower asked about configured entries.
	Polls(entries ...string)
	// Holds is true for a destroyed revision that the follower says it has.
	Holds(g destruction.Gone) bool
	// Told names the manifests that the follower's states are about; none if they name none.
	Told() []string
	// Ring is the configured ring that counts for the follower, "" without rings.
	Ring() string
}

// Config is what a Service needs.
type Config struct {
	Catalog   Catalog
	PublicURL string // what links begin with, without a slash at its end
	IDParam   string // the query parameter of an id, matched without case
	IDs       *IDs   // nil lets only programs on this host ask, with any id
	Bandwidth *rate.Budget
	// Asker returns who asks, by the name and the ring of the id and the request's header.
	// With nil, everybody sees everything.
	Asker func(name, ring string, header http.Header) Asker
	// Generations are the texts of the mirror; nil for none.
	Generations *generations.Generations
	Patches     *patches.Store // nil for none
	// Order returns what followers must destroy of an entry. It may be nil.
	Order func(entry string) destruction.Order
	// Patience is how long a client may take for 1 MiB, by default 2 minutes.
	Patience time.Duration
	// Observe is called after each request with its endpoint and status. It may be nil.
	Observe func(endpoint string, status int, sent int64)
}

// Service answers followers. Safe for concurrent use.
type Service struct {
	cfg     Config
	bytes   *accounts.Queue // nil for no limit
	wrong   chan struct{}   // held by requests with a wrong id
	pages   places          // a page can take tens of megabytes and a minute
	packs   places          // a pack takes memory for its compression
	lists   patchLists
	lengths lengths
}

// Limits of a Service.
const (
	defaultPatience = 2 * time.Minute
	maxWrong        = 256 // answers to wrong ids that wait at once
	maxPages        = 4   // pages for people written at once
	maxPagesOfOne   = 2   // of them, for one follower
	maxPacks        = 32  // made at once
	maxPacksOfOne   = 4   // of them, for one follower
)

// New returns a service.
func New(cfg Config) *Service {
	cfg.Patience = cmp.Or(cfg.Patience, defaultPatience)
	if cfg.Asker == nil {
		cfg.Asker = func(string, string, http.Header) Asker { return everything{} }
	}
	var bytes *accounts.Queue
	if cfg.Bandwidth != nil {
		bytes = accounts.NewQueue(cfg.Bandwidth)
	}
	return &Service{
		cfg: cfg, bytes: bytes, wrong: make(chan struct{}, maxWrong),
		pages: places{most: maxPages, mostOfOne: maxPagesOfOne},
		packs: places{most: maxPacks, mostOfOne: maxPacksOfOne},
		lists: patchLists{turns: accounts.NewTurns()},
	}
}

type everything struct{}

func (everything) Sees(*catalog.Revision) bool { return true }
func (everything) Polls(...string)             {}
func (everything) Holds(destruction.Gone) bool { return false }
func (everything) Told() []string              { return nil }
func (everything) Ring() string                { return "" }

// bodyTimeout is how long a client may take to send a body, which no request needs.
const bodyTimeout = 10 * time.Second

// ServeHTTP answers one request.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a := &answer{ResponseWriter: w, ctx: r.Context(), head: r.Method == http.MethodHead, bytes: s.bytes, patience: s.cfg.Patience}
	if r.ContentLength != 0 {
		_ = a.controller().SetReadDeadline(time.Now().Add(bodyTimeout)) // it works on every connection
	}
	a.Header().Set(rings.HeaderUpstream, rings.Upstream) // followers tell their state only to a service that sends it
	a.Header().Set("X-Content-Type-Options", "nosniff")  // a file of the provider is no page of this host
	name := s.serve(a, r)
	if s.cfg.Observe != nil {
		s.cfg.Observe(name, a.status, a.sent)
	}
}

// serve returns the name of the endpoint, "" for an unknown one.
func (s *Service) serve(a *answer, r *http.Request) (name string) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		a.Header().Set("Allow", "GET, HEAD")
		a.reply(http.StatusMethodNotAllowed, "", nil)
		return ""
	}
	c := &call{s: s, a: a, r: r}
	verb, args, ok := splitPath(r.URL.EscapedPath())
	name, handler := s.endpoint(verb)
	if handler == nil || !ok {
		a.unknownEndpoint(args)
		return ""
	}
	if a.who, ok = s.authorise(c); !ok {
		s.refuse(a)
		return name
	}
	accounts.PlaceOf(r.Context()).Belongs(s.owner(a.who))
	if c.format, ok = parseFormat(parameter(r.URL.RawQuery, "format")); !ok {
		a.problem(http.StatusBadRequest, titleProblem(http.StatusBadRequest, "format", "The value of format is not known."))
		return name
	}
	c.args, c.snapshot = args, s.cfg.Catalog.Snapshot()
	handler(c)
	return name
}

// endpoint finds the handler of the first segment, which the provider matches without
// case.
func (s *Service) endpoint(verb string) (name string, handler func(*call)) {
	switch strings.ToLower(verb) {
	case "browse":
		return "Browse", (*call).browse
	case "download":
		return "Download", (*call).download
	case "releases":
		return "Releases", (*call).fileReleases
	case "manifestreleases":
		return "ManifestReleases", (*call).manifestReleases
	case "manifest":
		return "Manifest", (*call).manifest
	case "manifestlist":
		return "ManifestList", (*call).manifestList
	case "metadata":
		return "Metadata", (*call).metadata
	case "-":
		return "Mirror", (*call).mirror
	}
	if algorithm := manifest.ParseAlgorithm(verb); algorithm != 0 {
		return "Hash", func(c *call) { c.hash(algorithm) }
	}
	return "", nil
}

// call is one request of a known follower.
type call struct {
	s        *Service
	a        *answer
	r        *http.Request
	id       string // as the follower sent it
	name     string // of the id, "" without ids
	asker    Asker
	args     []string // the decoded path segments after the first
	format   format
	snapshot *catalog.Snapshot
}

// sees is the catalog's question about the asker.
func (c *call) sees() catalog.Sees { return c.asker.Sees }

// asked keeps a revision for the follower, if that is a client of the release service. A web
// page makes the browsers of its visitors send requests, also to a server on their own host,
// which needs no id.
func (c *call) asked(r *catalog.Revision) bool {
	for _, name := range []string{"Sec-Fetch-Site", "Sec-Fetch-Mode", "Origin", "Cookie"} {
		if c.r.Header[name] != nil {
			return true
		}
	}
	return strings.HasPrefix(c.r.UserAgent(), "Mozilla/") || c.s.cfg.Catalog.Asked(c.r.Context(), r, c.name)
}

// private keeps caches from giving one ring's answer to another ring, and from giving old
// answers.
func (c *call) private() { c.a.Header().Set("Cache-Control", "private, no-cache") }
