package emulator

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"syncd/internal/emulator/wire"
)

// call is a request to the release service, taken apart.
type call struct {
	w      http.ResponseWriter
	r      *http.Request
	query  url.Values
	id     string   // the caller's Customer ID
	base   string   // of the links in the answer
	args   []string // the path segments after the first, decoded
	format wire.Format
}

// classes are the classes of files with the number of path segments between
// class and release.
var classes = map[string]int{ClassData: 0, ClassLibrary: 3, ClassInterface: 3, ClassProduct: 0}

func canonicalClass(s string) string {
	for class := range classes {
		if strings.EqualFold(class, s) {
			return class
		}
	}
	return ""
}

// serveRelease answers the twenty endpoints of the release service.
func (e *Emulator) serveRelease(w http.ResponseWriter, r *http.Request) {
	if !isRead(w, r) {
		return
	}
	c := &call{w: w, r: r, query: r.URL.Query(), base: e.release.urlFor(r)}
	verb, args, ok := splitPath(r.URL.EscapedPath())
	handler := e.endpoint(verb)
	if handler == nil || !ok {
		c.unknownEndpoint(args)
		return
	}
	if c.id, ok = e.authorise(c.query); !ok {
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

// endpoint finds the handler of the first path segment, or nil.
func (e *Emulator) endpoint(verb string) func(*call) {
	switch strings.ToLower(verb) {
	case "browse":
		return e.browse
	case "download":
		return e.downloadLink
	case "releases":
		return e.fileReleases
	case "manifestreleases":
		return e.manifestReleases
	case "manifest":
		return e.manifest
	case "manifestlist":
		return e.manifestList
	case "metadata":
		return e.metadata
	}
	if hashType := strings.ToUpper(verb); hashTypes[hashType] != nil {
		return func(c *call) { e.hash(c, hashType) }
	}
	return nil
}

func isRead(w http.ResponseWriter, r *http.Request) bool {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return true
	}
	w.Header().Set("Allow", "GET, HEAD")
	wire.Empty(http.StatusMethodNotAllowed).Write(w)
	return false
}

// splitPath decodes the segments of a path one by one, so that an encoded slash
// stays within its name. A slash at the end is allowed.
func splitPath(escaped string) (verb string, args []string, ok bool) {
	path := strings.TrimSuffix(strings.TrimPrefix(escaped, "/"), "/")
	for s := range strings.SplitSeq(path, "/") {
		decoded, err := url.PathUnescape(s)
		if err != nil {
			return "", nil, false
		}
		args = append(args, decoded)
	}
	return args[0], args[1:], true
}

// authorise returns the caller's Customer ID and whether it is accepted.
func (e *Emulator) authorise(query url.Values) (string, bool) {
	id := wire.Parameter(query, e.cfg.IDParam)
	return id, id != "" && (e.cfg.CustomerID == "" || id == e.cfg.CustomerID)
}

// unknownEndpoint answers a path that the service does not have. A known class
// behind the first segment makes that a hash type gone wrong.
func (c *call) unknownEndpoint(args []string) {
	if len(args) > 0 && canonicalClass(args[0]) != "" {
		wire.Problem{Status: http.StatusBadRequest, Type: "invalidHashType", Message: "The hash type is not known."}.Write(c.w)
		return
	}
	wire.Empty(http.StatusNotFound).Write(c.w)
}

func (c *call) notFound(kind, what string) {
	wire.Problem{Status: http.StatusNotFound, Type: kind, Message: "There is no such " + what + "."}.Write(c.w)
}

// noFile is the other shape of errors, which the endpoints of files use.
func (c *call) noFile() {
	wire.Problem{
		Status: http.StatusNotFound, Shape: wire.ShapeTitle, Field: "filename",
		Message: "There is no such file in this release.",
	}.Write(c.w)
}

// reply sends a result; with validator set, one that the client may have.
func (c *call) reply(f wire.Format, body []byte, validator bool) {
	if validator {
		sum := sha256.Sum256(body)
		etag := fmt.Sprintf(`"%x"`, sum[:12])
		c.w.Header().Set("ETag", etag)
		if noneMatch(c.r.Header.Values("If-None-Match"), etag) {
			c.w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	wire.Write(c.w, http.StatusOK, f.ContentType(), body)
}

// noneMatch tells whether If-None-Match names the ETag, by weak comparison.
func noneMatch(values []string, etag string) bool {
	for _, v := range values {
		for tag := range strings.SplitSeq(v, ",") {
			tag = strings.TrimSpace(tag)
			if tag == "*" || strings.TrimPrefix(tag, "W/") == etag {
				return true
			}
		}
	}
	return false
}

// reference reads the segments of a file, with or without a release.
func reference(args []string, withRelease bool) (File, bool) {
	if len(args) == 0 {
		return File{}, false
	}
	f := File{Class: canonicalClass(args[0])}
	middle, known := classes[f.Class]
	rest := args[1:]
	if !known || middle > len(rest) {
		return File{}, false
	}
	if f.Class == ClassLibrary {
		f.OS, f.Compiler, f.Architecture = rest[0], rest[1], rest[2]
	}
	if f.Class == ClassInterface {
		f.OS, f.Language, f.Architecture = rest[0], rest[1], rest[2]
	}
	rest = rest[middle:]
	if withRelease && len(rest) == 2 {
		f.Release, f.Name = rest[0], rest[1]
		return f, true
	}
	if !withRelease && len(rest) == 1 {
		f.Name = rest[0]
		return f, true
	}
	return File{}, false
}

// file finds the file that the path names, or answers 404.
func (e *Emulator) file(c *call) (*item, bool) {
	f, ok := reference(c.args, true)
	if ok {
		var it *item
		if it, ok = e.catalogue.file(f); ok && it.Content.Size() >= 0 {
			return it, true
		}
	}
	c.noFile()
	return nil, false
}

// GET /ManifestReleases/{manifest}
func (e *Emulator) manifestReleases(c *call) {
	var releases []string
	if len(c.args) == 1 {
		releases = e.catalogue.releases(c.args[0])
	}
	if len(releases) == 0 {
		c.notFound("invalidManifest", "manifest")
		return
	}
	c.reply(c.format, renderList(c.format, releases), true)
}

// GET /Releases/{class}/…/{filename}
func (e *Emulator) fileReleases(c *call) {
	f, ok := reference(c.args, false)
	var releases []string
	if ok {
		releases = e.catalogue.fileReleases(f)
	}
	if len(releases) == 0 {
		c.noFile()
		return
	}
	c.reply(c.format, renderList(c.format, releases), true)
}

// GET /Manifest/{release}/{manifest}
func (e *Emulator) manifest(c *call) {
	if len(c.args) != 2 {
		wire.Empty(http.StatusNotFound).Write(c.w)
		return
	}
	name := c.args[1]
	available := e.catalogue.releases(name)
	if len(available) == 0 {
		c.notFound("invalidManifest", "manifest")
		return
	}
	release, ok := resolveRelease(available, c.args[0])
	var l releaseList
	if ok {
		l, ok = e.catalogue.list(name, release)
	}
	if !ok {
		c.notFound("invalidRelease", "release")
		return
	}
	c.reply(c.format, renderList(c.format, l.urls(c.base, c.id)), true)
}

// urls writes the list of a manifest's release.
func (l releaseList) urls(base, id string) []string {
	if l.raw {
		return l.links
	}
	links := make([]string, len(l.items))
	id = url.QueryEscape(id)
	for i, it := range l.items {
		links[i] = link(base, it.File, id, i%2 == 0)
	}
	return links
}

// link writes a download link the way the service does: the id under its
// upper-case name, at times behind a slash. The id comes escaped.
func link(base string, f File, id string, slash bool) string {
	var b strings.Builder
	b.Grow(128)
	b.WriteString(base)
	b.WriteString("/Download")
	for _, s := range append(f.segments(), f.Release, f.Name) {
		b.WriteByte('/')
		b.WriteString(url.PathEscape(s))
	}
	if slash {
		b.WriteByte('/')
	}
	b.WriteString("?ID=")
	b.WriteString(id)
	return b.String()
}

// GET /ManifestList/{release}: each manifest at the release asked for or, when
// it did not change in that one, at its newest before.
func (e *Emulator) manifestList(c *call) {
	var asked string
	var ok bool
	if len(c.args) == 1 {
		asked, ok = resolveRelease(e.catalogue.allReleases(), c.args[0])
	}
	if !ok {
		c.notFound("invalidRelease", "release")
		return
	}
	var infos []manifestInfo
	for _, name := range e.catalogue.manifests() {
		if release, ok := newestUpTo(e.catalogue.releases(name), asked); ok {
			infos = append(infos, manifestInfo{
				Name:        name,
				Description: "The files of " + name + ".",
				URL: fmt.Sprintf("%s/Manifest/%s/%s/?ID=%s", c.base,
					url.PathEscape(release), url.PathEscape(name), url.QueryEscape(c.id)),
			})
		}
	}
	c.reply(c.format, renderManifests(c.format, infos), false)
}

func newestUpTo(releases []string, limit string) (string, bool) {
	for i := len(releases) - 1; i >= 0; i-- {
		if compareReleases(releases[i], limit) <= 0 {
			return releases[i], true
		}
	}
	return "", false
}

// GET /Metadata/{class}/…
func (e *Emulator) metadata(c *call) {
	it, ok := e.file(c)
	if !ok {
		return
	}
	sums, err := e.digests.sums(c.r.Context(), it, "MD5", "SHA1", "SHA256")
	if err != nil {
		c.unreadable(err)
		return
	}
	f, body := renderMetadata(c.format, metadataOf(it, sums))
	c.reply(f, body, false)
}

func metadataOf(it *item, sums map[string]string) wire.Fields {
	fs := wire.Fields{
		{"FileName", it.Name},
		{"Release", it.Release},
		{"FileSize", strconv.FormatInt(it.Content.Size(), 10)},
		{"MD5", sums["MD5"]},
		{"SHA1", sums["SHA1"]},
		{"SHA256", sums["SHA256"]},
	}
	switch it.Class {
	case ClassLibrary:
		build := strconv.FormatUint(mix(uint64(len(it.Name)))%10000, 10)
		return append(fs, wire.Field{Key: "BuildNumber", Value: build},
			wire.Field{Key: "OS", Value: it.OS}, wire.Field{Key: "Compiler", Value: it.Compiler}, wire.Field{Key: "Architecture", Value: it.Architecture})
	case ClassInterface:
		return append(fs, wire.Field{Key: "Language", Value: it.Language}, wire.Field{Key: "Architecture", Value: it.Architecture})
	}
	if _, ok := parseMonth(it.Release, "."); ok {
		fs = append(fs, wire.Field{Key: "BuildDate", Value: strings.Replace(it.Release, ".", "-", 1)})
	}
	return fs
}

// GET /{hashtype}/{class}/…
func (e *Emulator) hash(c *call, hashType string) {
	it, ok := e.file(c)
	if !ok {
		return
	}
	sums, err := e.digests.sums(c.r.Context(), it, hashType)
	if err != nil {
		c.unreadable(err)
		return
	}
	c.reply(c.format, renderString(c.format, sums[hashType]), false)
}

func (c *call) unreadable(err error) {
	if errors.Is(err, fs.ErrNotExist) {
		c.noFile() // gone between the look-up and the reading
		return
	}
	wire.Problem{Status: http.StatusInternalServerError, Type: "internalError", Message: err.Error()}.Write(c.w)
}
