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
type Reference struct {
	Class        Class
	OS           string // Library and Interface
	Compiler     string // Library
	Language     string // Interface
	Architecture string // Library and Interface
	Release      Release
	Name         string
	Tag          string // variant of the file; "" for the usual one
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
			return Reference{}, refusal.New(refusal.BadShape, "link with scheme %.16q, expected an http or https URL", scheme)
		}
		_, text, _ = strings.Cut(rest, "/")
	}
	text = strings.TrimPrefix(text, "/")
	text = strings.TrimSuffix(text, "/") // a link may carry a slash before its query
	segments, err := decodeSegments(text)
	if err != nil {
		return Reference{}, err
	}
	for i, segment := range segments {
		if strings.EqualFold(segment, "Download") {
			tag, err := tagOf(query)
			if err != nil {
				return Reference{}, err
			}
			return withTag(segments[i+1:], tag)
		}
	}
	return Reference{}, refusal.New(refusal.BadShape, "link without /Download/: %.64q", text)
}

// ParseReference reads a reference in the form of String, as people type it. It
// does not percent-decode the segments. Errors are refusals.
func ParseReference(s string) (Reference, error) {
	tag := ""
	if i := strings.LastIndex(s, tagMark); i >= 0 {
		s, tag = s[:i], s[i+len(tagMark):]
	}
	segments := strings.Split(strings.Trim(s, "/"), "/")
	for _, segment := range segments {
		if err := CheckSegment(segment); err != nil {
			return Reference{}, err
		}
	}
	return withTag(segments, tag)
}

func withTag(segments []string, tag string) (Reference, error) {
	ref, err := fromSegments(segments)
	if err == nil && tag != "" {
		err = CheckTag(tag)
	}
	if err != nil {
		return Reference{}, err
	}
	ref.Tag = tag
	return ref, nil
}

func fromSegments(s []string) (Reference, error) {
	if len(s) == 0 {
		return Reference{}, refusal.New(refusal.BadShape, "empty reference, expected CLASS/…/NAME")
	}
	class, err := parseClass(s[0])
	if err != nil {
		return Reference{}, err
	}
	if got := len(s) - 1; got != segmentCount[class] {
		return Reference{}, refusal.New(refusal.BadShape, "%d segments after %s, expected %d: %.80q", got, class, segmentCount[class], path.Join(s...))
	}
	switch class {
	case Library:
		return Reference{Class: class, OS: s[1], Compiler: s[2], Architecture: s[3], Release: Release(s[4]), Name: s[5]}, nil
	case Interface:
		return Reference{Class: class, OS: s[1], Language: s[2], Architecture: s[3], Release: Release(s[4]), Name: s[5]}, nil
	default:
		return Reference{Class: class, Release: Release(s[1]), Name: s[2]}, nil
	}
}

// FileSegments returns the segments after the class without the release, in the
// order of the paths of the endpoint `/Releases` (docs/wire/releases.md, "Endpoints").
func (r Reference) FileSegments() []string {
	switch r.Class {
	case Library:
		return []string{r.OS, r.Compiler, r.Architecture, r.Name}
	case Interface:
		return []string{r.OS, r.Language, r.Architecture, r.Name}
	default:
		return []string{r.Name}
	}
}

// Segments returns the whole reference, class first, as in the paths of downloads.
func (r Reference) Segments() []string {
	file := r.FileSegments()
	last := len(file) - 1
	segments := append([]string{string(r.Class)}, file[:last]...)
	return append(segments, string(r.Release), file[last])
}

// String is the reference as a path, such as `Data/2026.10/ews.txt`. A tag follows as in
// `Data/2026.10/ews.txt?tag=NET7`.
func (r Reference) String() string {
	text := strings.Join(r.Segments(), "/")
	if r.Tag != "" || strings.Contains(text, tagMark) { // ParseReference takes the last mark for that of the tag
		text += tagMark + r.Tag
	}
	return text
}

// Path is the path of the file within its manifest, with forward slashes. A variant has
// the path of the usual file, because programs expect it there.
func (r Reference) Path() string {
	switch r.Class {
	case Library:
		return path.Join(lower(path.Join(r.OS, r.Compiler, r.Architecture)), r.Name)
	case Interface:
		return path.Join("interfaces", lower(path.Join(r.OS, r.Language, r.Architecture)), r.Name)
	default:
		return r.Name
	}
}

// identity is r with the segments in lower case that the provider compares without
// case. Path has them so too: one identity never has two paths.
func (r Reference) identity() Reference {
	r.OS, r.Compiler = lower(r.OS), lower(r.Compiler)
	r.Language, r.Architecture = lower(r.Language), lower(r.Architecture)
	return r
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
