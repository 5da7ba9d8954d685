package serve

import (
	"crypto/sha256"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"weak"

	"syncd/internal/downstream/catalog"
	"syncd/internal/downstream/rings"
	"syncd/internal/manifest"
)

// manifestReleases answers GET /ManifestReleases/{manifest}.
func (c *call) manifestReleases() {
	var releases []manifest.Release
	var contents []string
	var newest *catalog.Revision
	if len(c.args) == 1 {
		c.polls(c.args[0])
		for _, r := range c.snapshot.Shown(c.args[0], c.sees()) {
			releases, contents, newest = append(releases, r.Release), append(contents, r.Content()), r
		}
	}
	c.private()
	if len(releases) == 0 {
		c.a.notFound("invalidManifest", "manifest")
		return
	}
	c.replyIfChanged(releases, contents, newest)
}

// isMixed answers 409 for a revision that the follower would get with a file of another
// manifest.
func (c *call) isMixed(r *catalog.Revision) bool {
	instead, mixed := c.snapshot.Mixed(r, c.sees())
	if mixed {
		c.a.Header().Del("ETag")
		c.a.problem(http.StatusConflict, typeProblem("mixedRevisions", instead.Reference().String()+" has other bytes in "+r.Manifest+" than in "+
			instead.Revision.Manifest+", and a follower gets one of them: this goes on when the upstream has the same in both."))
	}
	return mixed
}

// polls notes that the follower asked about a manifest, before the answer depends on it. The
// answer says what followers must destroy.
func (c *call) polls(name string) {
	if revisions := c.snapshot.Revisions(name); len(revisions) > 0 {
		c.pollsEntry(revisions[0].Manifest)
	}
}

func (c *call) pollsEntry(name string) {
	c.asker.Polls(name)
	if c.s.cfg.Order == nil {
		return
	}
	if text := c.s.cfg.Order(name).Header(c.asker.Holds); text != "" {
		c.a.Header().Set(rings.HeaderDestroy, text)
	}
}

// pollsFile is polls for the entry of a file.
func (c *call) pollsFile(ref manifest.Reference) {
	if f, ok := c.snapshot.File(ref.WithRelease(manifest.Latest), nil); ok {
		c.pollsEntry(f.Revision.Manifest)
	}
}

// fileReleases answers GET /Releases/{class}/…/{filename}.
func (c *call) fileReleases() {
	var releases []manifest.Release
	var contents []string
	if parts, ok := reference(c.args, false); ok {
		ref := parts.Reference()
		c.pollsFile(ref)
		releases = c.snapshot.FileReleases(ref, c.sees())
		for _, release := range releases { // a variant with a tag has no part in the ETag
			if f, found := c.snapshot.File(ref.WithRelease(release), c.sees()); found {
				contents = append(contents, f.Object().String())
			}
		}
	}
	c.private()
	if len(releases) == 0 {
		c.a.noFile()
		return
	}
	c.replyIfChanged(releases, contents, nil)
}

// replyIfChanged sends a list of releases, or 304 when If-None-Match names its ETag. The ETag
// also follows the contents of the releases: other bytes are news to a follower. newest is
// what the follower would take, nil for a single file.
func (c *call) replyIfChanged(releases []manifest.Release, contents []string, newest *catalog.Revision) {
	items := make([]string, len(releases))
	for i, r := range releases {
		items[i] = string(r)
	}
	body := c.format.list(items)
	sum := sha256.Sum256(append(slices.Clone(body), strings.Join(contents, "\x00")...))
	if !c.isUnchanged(fmt.Sprintf(`"%x"`, sum[:12])) && !c.isMixed(newest) {
		c.a.reply(http.StatusOK, c.format.contentType, body)
	}
}

// isUnchanged answers 304 when If-None-Match names the ETag.
func (c *call) isUnchanged(etag string) bool {
	c.a.Header().Set("ETag", etag)
	for _, v := range c.r.Header.Values("If-None-Match") {
		for tag := range strings.SplitSeq(v, ",") {
			if tag = strings.TrimSpace(tag); tag == "*" || strings.TrimPrefix(tag, "W/") == etag {
				c.a.WriteHeader(http.StatusNotModified)
				return true
			}
		}
	}
	return false
}

// manifest answers GET /Manifest/{release}/{manifest}.
func (c *call) manifest() {
	if len(c.args) != 2 {
		c.a.reply(http.StatusNotFound, "", nil)
		return
	}
	c.polls(c.args[1])
	c.private()
	revision, ok := c.revision(c.args[1], c.args[0])
	if !ok || c.isMixed(revision) {
		return
	}
	if !c.asked(revision) {
		c.a.notFound("invalidRelease", "release")
		return
	}
	l := c.linksOf(revision)
	if c.isUnchanged(l.etag()) {
		return
	}
	length := c.s.lengths.of(l)
	c.a.asList()
	h := c.a.Header()
	h.Set("Content-Type", c.format.contentType)
	h.Set("Content-Length", strconv.FormatInt(length, 10))
	c.a.WriteHeader(http.StatusOK)
	if !c.a.head {
		l.write(c.a)
	}
}

// revision finds what a manifest shows for a release or an alias. It answers 404 when
// there is none.
func (c *call) revision(name, release string) (*catalog.Revision, bool) {
	revision, err := c.snapshot.Manifest(name, release, c.sees())
	switch {
	case err == nil:
		return revision, true
	case len(c.snapshot.Releases(name, c.sees())) == 0:
		c.a.notFound("invalidManifest", "manifest")
	default:
		c.a.notFound("invalidRelease", "release")
	}
	return nil, false
}

// links is the list of a manifest. It is written in pieces, because it can be much longer
// than what many followers at once may take of the memory.
type links struct {
	revision *catalog.Revision
	format   format
	base     string // of the links
	query    string // with the follower's id
}

func (c *call) linksOf(r *catalog.Revision) links {
	return links{revision: r, format: c.format, base: c.s.cfg.PublicURL + "/Download", query: "?ID=" + url.QueryEscape(c.id)}
}

// etag identifies the body without making it.
func (l links) etag() string {
	sum := sha256.Sum256([]byte(strings.Join([]string{l.revision.Manifest, l.revision.ID, l.format.name, l.base, l.query}, "\x00")))
	return fmt.Sprintf(`"%x"`, sum[:12])
}

// listPiece is about how many bytes of a list are written at once.
const listPiece = 32 << 10

// write writes the list until the writer fails: the client is gone then.
func (l links) write(w io.Writer) {
	b := append(make([]byte, 0, min(listPiece+8<<10, 1<<10+256*l.revision.Len())), l.format.before()...)
	first := true
	for f := range l.revision.Files() {
		if !first {
			b = append(b, l.format.between()...)
		}
		first = false
		b = l.format.appendItem(b, l.linkOf(f.Reference(), f.Slash()))
		if len(b) >= listPiece {
			if _, err := w.Write(b); err != nil {
				return
			}
			b = b[:0]
		}
	}
	_, _ = w.Write(append(b, l.format.after()...))
}

// linkOf is a download link as the provider writes it: some have a slash before the query,
// and the tag of a variant stands behind the id.
func (l links) linkOf(ref manifest.Reference, slash bool) string {
	var b strings.Builder
	b.Grow(160)
	b.WriteString(l.base)
	for _, segment := range ref.Segments() {
		b.WriteByte('/')
		b.WriteString(url.PathEscape(segment))
	}
	if slash {
		b.WriteByte('/')
	}
	b.WriteString(l.query)
	if tag := ref.Tag(); tag != "" {
		b.WriteString("&tag=" + url.QueryEscape(tag))
	}
	return b.String()
}

// lengths knows how long lists are. To count a long list takes as much CPU as to send it, and
// a follower could ask for nothing else: with HEAD, or a GET that it breaks off. Safe for
// concurrent use.
type lengths struct {
	mu    sync.Mutex // also held while a list is counted, so that each is counted once
	known map[listKey]int64
}

// listKey is a list, whatever id its links have. It keeps no revision in memory.
type listKey struct {
	revision weak.Pointer[catalog.Revision]
	format   string
}

// maxLengths is how many lengths are known.
const maxLengths = 4096

// of returns the length of a list. A query has no characters that a format escapes, so it
// adds as much to each link.
func (k *lengths) of(l links) int64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	key := listKey{weak.Make(l.revision), l.format.name}
	length, isKnown := k.known[key]
	if !isKnown {
		if k.known == nil || len(k.known) == maxLengths {
			k.known = map[listKey]int64{} // most are of revisions that are gone
		}
		bare, count := l, counter(0)
		bare.query = ""
		bare.write(&count)
		length = int64(count)
		k.known[key] = length
	}
	return length + int64(l.revision.Len()*len(l.query))
}

// counter counts what is written to it.
type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// manifestList answers GET /ManifestList/{release}.
func (c *call) manifestList() {
	c.private()
	var revisions []*catalog.Revision
	if len(c.args) == 1 {
		revisions, _ = c.snapshot.List(c.args[0], c.sees())
	}
	if len(revisions) == 0 {
		c.a.notFound("invalidRelease", "release")
		return
	}
	c.a.reply(http.StatusOK, c.format.contentType, c.manifests(revisions))
}

// manifests writes a ManifestList. The text formats hold the names only.
func (c *call) manifests(revisions []*catalog.Revision) []byte {
	switch c.format {
	case formatJSON:
		return c.manifestsInJSON(revisions)
	case formatXML:
		return c.manifestsInXML(revisions)
	}
	names := make([]string, len(revisions))
	for i, r := range revisions {
		names[i] = r.Manifest
	}
	return c.format.list(names)
}

func (c *call) manifestsInJSON(revisions []*catalog.Revision) []byte {
	b := []byte("[")
	for i, r := range revisions {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendJSON(append(b, `{"manifestName":`...), r.Manifest)
		b = appendJSON(append(b, `,"description":`...), r.Description)
		b = appendJSON(append(b, `,"url":`...), c.manifestURL(r))
		b = append(b, '}')
	}
	return append(b, ']')
}

func (c *call) manifestsInXML(revisions []*catalog.Revision) []byte {
	b := []byte(xml.Header + "<ArrayOfManifest>")
	for _, r := range revisions {
		b = append(b, "<Manifest>"...)
		b = appendElement(b, "manifestName", r.Manifest)
		b = appendElement(b, "description", r.Description)
		b = appendElement(b, "url", c.manifestURL(r))
		b = append(b, "</Manifest>"...)
	}
	return append(b, "</ArrayOfManifest>"...)
}

func (c *call) manifestURL(r *catalog.Revision) string {
	return fmt.Sprintf("%s/Manifest/%s/%s/?ID=%s", c.s.cfg.PublicURL, url.PathEscape(string(r.Release)), url.PathEscape(r.Manifest), url.QueryEscape(c.id))
}
