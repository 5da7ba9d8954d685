package manifest

import (
	"path"
	"strings"

	"syncd/internal/manifest/refusal"
)

// Class is the kind of a file, the first segment of its reference.
type Class string

// The four classes; see docs/wire/releases.md, "Endpoints".
const (
	Data      Class = "Data"
	Library   Class = "Library"
	Interface Class = "Interface"
	Product   Class = "Product"
)

// segmentCount is how many segments follow each class in a reference.
var segmentCount = map[Class]int{Data: 2, Product: 2, Library: 5, Interface: 5}

func parseClass(s string) (Class, error) {
	for _, c := range []Class{Data, Library, Interface, Product} {
		if strings.EqualFold(s, string(c)) {
			return c, nil
		}
	}
	return "", refusal.New(refusal.BadShape, "class %.32q is not Data, Library, Interface or Product", s)
}

// Reference identifies one file of one release. It is an identity, never an
// address: requests for it always go to the configured base URL, so that no link can
// send the Customer ID elsewhere.
//
// It is a path such as `Data/2026.10/ews.txt`, or with a tag `Data/2026.10/ews.txt?tag=NET7`,
// because thousands of them are in memory. Only parsers and Parts make one. The zero value
// is none.
type Reference string

// Parts are the segments of a Reference, and its tag.
type Parts struct {
	Class        Class
	OS           string // Library and Interface
	Compiler     string // Library
	Language     string // Interface
	Architecture string // Library and Interface
	Release      Release
	Name         string
	Tag          string // variant of the file; "" for the usual one
}

// Reference joins the parts.
func (p Parts) Reference() Reference {
	if p == (Parts{}) {
		return ""
	}
	size := len(p.Class) + len(p.OS) + len(p.Compiler) + len(p.Language) + len(p.Architecture) + len(p.Release) + len(p.Name) + len(p.Tag) + len("/////")
	var text strings.Builder
	text.Grow(size)
	text.WriteString(string(p.Class))
	if file := p.FileSegments(); len(file) > 1 {
		for _, segment := range file[:len(file)-1] {
			text.WriteByte('/')
			text.WriteString(segment)
		}
	}
	text.WriteByte('/')
	text.WriteString(string(p.Release))
	text.WriteByte('/')
	text.WriteString(p.Name)
	if p.Tag != "" || strings.Contains(text.String(), tagMark) { // the last mark is that of the tag
		text.WriteString(tagMark)
		text.WriteString(p.Tag)
	}
	return Reference(text.String())
}

// Parts splits the reference.
func (r Reference) Parts() (p Parts) {
	rest := string(r)
	if i := strings.LastIndex(rest, tagMark); i >= 0 {
		rest, p.Tag = rest[:i], rest[i+len(tagMark):]
	}
	next := func() (segment string) {
		segment, rest, _ = strings.Cut(rest, "/")
		return segment
	}
	switch p.Class = Class(next()); p.Class {
	case Library:
		p.OS, p.Compiler, p.Architecture = next(), next(), next()
	case Interface:
		p.OS, p.Language, p.Architecture = next(), next(), next()
	}
	p.Release, p.Name = Release(next()), rest
	return p
}

// Class is the kind of the file.
func (r Reference) Class() Class {
	class, _, _ := strings.Cut(string(r), "/")
	return Class(class)
}

// Release is the release that has the file.
func (r Reference) Release() Release { return r.Parts().Release }

// Name is the name of the file.
func (r Reference) Name() string { return r.Parts().Name }

// Tag names the variant of the file; "" for the usual one.
func (r Reference) Tag() string { return r.Parts().Tag }

// WithRelease is the same file of another release.
func (r Reference) WithRelease(release Release) Reference {
	p := r.Parts()
	p.Release = release
	return p.Reference()
}

// WithTag is another variant of the file.
func (r Reference) WithTag(tag string) Reference {
	p := r.Parts()
	p.Tag = tag
	return p.Reference()
}

// UnmarshalText reads what ParseReference reads. Any other text becomes the zero value: it
// is in no record that syncd writes.
func (r *Reference) UnmarshalText(text []byte) error {
	*r, _ = ParseReference(string(text)) // the zero value after an error
	return nil
}

// ParseLink reads a download link of a manifest: an http(s) URL or its path. The
// segments after `Download` and the query's tag are the reference; scheme, host and the
// rest of the query are dropped. Errors are refusals.
func ParseLink(link string) (Reference, error) {
	text, _, _ := strings.Cut(link, "#")
	text, query, _ := strings.Cut(text, "?")
	if scheme, rest, found := strings.Cut(text, ":"); found && !strings.Contains(scheme, "/") {
		isHTTP := strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https")
		if rest, found = strings.CutPrefix(rest, "//"); !isHTTP || !found {
			return "", refusal.New(refusal.BadShape, "link with scheme %.16q, expected an http or https URL", scheme)
		}
		_, text, _ = strings.Cut(rest, "/")
	}
	text = strings.TrimPrefix(text, "/")
	text = strings.TrimSuffix(text, "/") // a link may carry a slash before its query
	segments, err := decodeSegments(text)
	if err != nil {
		return "", err
	}
	for i, segment := range segments {
		if strings.EqualFold(segment, "Download") {
			tag, err := tagOf(query)
			if err != nil {
				return "", err
			}
			return withTag(segments[i+1:], tag)
		}
	}
	return "", refusal.New(refusal.BadShape, "link without /Download/: %.64q", text)
}

// ParseReference reads a reference in the form of String, as people type it. It
// does not percent-decode the segments. Errors are refusals.
func ParseReference(s string) (Reference, error) {
	if isUsual(s) {
		return Reference(s), nil
	}
	tag := ""
	if i := strings.LastIndex(s, tagMark); i >= 0 {
		s, tag = s[:i], s[i+len(tagMark):]
	}
	segments := strings.Split(strings.Trim(s, "/"), "/")
	for _, segment := range segments {
		if err := CheckSegment(segment); err != nil {
			return "", err
		}
	}
	return withTag(segments, tag)
}

// isUsual is true for the text of a Reference without a tag, as nearly all are. It needs no
// memory: a record has 250,000 of them.
func isUsual(s string) bool {
	class, rest, _ := strings.Cut(s, "/")
	left := segmentCount[Class(class)]
	for segment := range strings.SplitSeq(rest, "/") {
		left--
		if CheckSegment(segment) != nil {
			return false
		}
	}
	return left == 0 && !strings.Contains(s, tagMark)
}

func withTag(segments []string, tag string) (Reference, error) {
	parts, err := fromSegments(segments)
	if err == nil && tag != "" {
		err = CheckTag(tag)
	}
	if err != nil {
		return "", err
	}
	parts.Tag = tag
	return parts.Reference(), nil
}

func fromSegments(s []string) (Parts, error) {
	if len(s) == 0 {
		return Parts{}, refusal.New(refusal.BadShape, "empty reference, expected CLASS/…/NAME")
	}
	class, err := parseClass(s[0])
	if err != nil {
		return Parts{}, err
	}
	if got := len(s) - 1; got != segmentCount[class] {
		return Parts{}, refusal.New(refusal.BadShape, "%d segments after %s, expected %d: %.80q", got, class, segmentCount[class], path.Join(s...))
	}
	switch class {
	case Library:
		return Parts{Class: class, OS: s[1], Compiler: s[2], Architecture: s[3], Release: Release(s[4]), Name: s[5]}, nil
	case Interface:
		return Parts{Class: class, OS: s[1], Language: s[2], Architecture: s[3], Release: Release(s[4]), Name: s[5]}, nil
	default:
		return Parts{Class: class, Release: Release(s[1]), Name: s[2]}, nil
	}
}

// FileSegments returns the segments after the class without the release, in the
// order of the paths of the endpoint `/Releases` (docs/wire/releases.md, "Endpoints").
func (p Parts) FileSegments() []string {
	switch p.Class {
	case Library:
		return []string{p.OS, p.Compiler, p.Architecture, p.Name}
	case Interface:
		return []string{p.OS, p.Language, p.Architecture, p.Name}
	default:
		return []string{p.Name}
	}
}

// FileSegments is that of the parts.
func (r Reference) FileSegments() []string { return r.Parts().FileSegments() }

// Segments returns the whole reference, class first, as in the paths of downloads.
func (r Reference) Segments() []string {
	p := r.Parts()
	file := p.FileSegments()
	last := len(file) - 1
	segments := append([]string{string(p.Class)}, file[:last]...)
	return append(segments, string(p.Release), file[last])
}

// String is the reference as text, which ParseReference reads.
func (r Reference) String() string { return string(r) }

// Path is the path of the file within its manifest, with forward slashes. A variant has
// the path of the usual file, because programs expect it there.
func (r Reference) Path() string { return r.Parts().path() }

func (p Parts) path() string {
	switch p.Class {
	case Library:
		return path.Join(lower(path.Join(p.OS, p.Compiler, p.Architecture)), p.Name)
	case Interface:
		return path.Join("interfaces", lower(path.Join(p.OS, p.Language, p.Architecture)), p.Name)
	default:
		return p.Name
	}
}

// identity is p with the segments in lower case that the provider compares without
// case. Path has them so too: one identity never has two paths.
func (p Parts) identity() Parts {
	p.OS, p.Compiler = lower(p.OS), lower(p.Compiler)
	p.Language, p.Architecture = lower(p.Language), lower(p.Architecture)
	return p
}

// lower changes ASCII letters only. Unicode's rules would merge different names (a
// dotless ı and I) and can make a segment longer than a file system allows.
func lower(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}
