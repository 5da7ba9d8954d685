package releases

import (
	"net/http"
	"net/url"
	"strings"

	"syncd/internal/emulator/catalogue"
	"syncd/internal/emulator/wire"
)

// Config says what a Service answers and where.
type Config struct {
	Catalogue *catalogue.Catalogue
	// CustomerID is the only id accepted; "" accepts any that is not empty.
	CustomerID string
	// IDParam is the query parameter of the id, matched without case.
	IDParam string
	// URL and DownloadURL return the base addresses of the service and of the
	// download host, as the sender of a request reaches them.
	URL, DownloadURL func(*http.Request) string
}

// Service is the release service. It is safe for concurrent use.
type Service struct{ cfg Config }

// New returns the service.
func New(cfg Config) *Service { return &Service{cfg} }

type call struct {
	w      http.ResponseWriter
	r      *http.Request
	query  url.Values
	id     string   // the caller's Customer ID
	base   string   // of the links in the answer
	args   []string // the decoded path segments after the first
	format wire.Format
}

// ServeHTTP answers the endpoints.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !isRead(w, r) {
		return
	}
	c := &call{w: w, r: r, query: r.URL.Query(), base: s.cfg.URL(r)}
	verb, args, ok := splitPath(r.URL.EscapedPath())
	handler := s.endpoint(verb)
	if handler == nil || !ok {
		c.unknownEndpoint(args)
		return
	}
	if c.id, ok = s.authorise(c.query); !ok {
		wire.Problem{
			Status: http.StatusUnauthorized, Type: "invalidLicense",
			Message: "The Customer ID is missing or not valid.",
		}.Write(w)
		return
	}
	if c.format, ok = parseFormat(wire.Parameter(c.query, "format")); !ok {
		wire.Problem{
			Status: http.StatusBadRequest, Shape: wire.ShapeTitle, Field: "format",
			Message: "The value of format is not known.",
		}.Write(w)
		return
	}
	c.args = args
	handler(c)
}

// endpoint returns the handler of the first path segment, nil for an unknown one.
// The provider matches it without case.
func (s *Service) endpoint(verb string) func(*call) {
	if handler := map[string]func(*call){
		"browse": s.browse, "download": s.redirectToDownload, "releases": s.fileReleases, "manifestreleases": s.manifestReleases,
		"manifest": s.manifest, "manifestlist": s.manifestList, "metadata": s.metadata,
	}[strings.ToLower(verb)]; handler != nil {
		return handler
	}
	if hashType := strings.ToUpper(verb); catalogue.IsHashType(hashType) {
		return func(c *call) { s.hash(c, hashType) }
	}
	return nil
}

// isRead returns whether a request is GET or HEAD. It answers 405 to others.
func isRead(w http.ResponseWriter, r *http.Request) bool {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return true
	}
	w.Header().Set("Allow", "GET, HEAD")
	wire.Empty(http.StatusMethodNotAllowed).Write(w)
	return false
}

// authorise returns the caller's Customer ID and whether it is accepted.
func (s *Service) authorise(query url.Values) (string, bool) {
	id := wire.Parameter(query, s.cfg.IDParam)
	return id, id != "" && (s.cfg.CustomerID == "" || id == s.cfg.CustomerID)
}

// unknownEndpoint answers an unknown first segment. A class behind it makes it an
// unknown hash type.
func (c *call) unknownEndpoint(args []string) {
	if len(args) > 0 && catalogue.ParseClass(args[0]) != "" {
		wire.Problem{Status: http.StatusBadRequest, Type: "invalidHashType", Message: "The hash type is not known."}.Write(c.w)
		return
	}
	wire.Empty(http.StatusNotFound).Write(c.w)
}
