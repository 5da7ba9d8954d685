package releases

import (
	"net/url"
	"strings"

	"syncd/internal/emulator/catalogue"
)

// splitPath decodes the segments of a path one by one, so that an encoded slash
// stays within its name. A slash at the end is allowed: the provider's own links
// have one before the query.
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

// reference reads the segments of a file: the class, the segments of the class,
// the release when withRelease is true, and the name.
func reference(args []string, withRelease bool) (catalogue.File, bool) {
	if len(args) == 0 {
		return catalogue.File{}, false
	}
	f := catalogue.File{Class: catalogue.ParseClass(args[0])}
	rest := args[1:]
	switch f.Class {
	case "":
		return catalogue.File{}, false
	case catalogue.ClassLibrary, catalogue.ClassInterface:
		if len(rest) < 3 {
			return catalogue.File{}, false
		}
		f.OS, f.Architecture = rest[0], rest[2]
		if f.Class == catalogue.ClassLibrary {
			f.Compiler = rest[1]
		} else {
			f.Language = rest[1]
		}
		rest = rest[3:]
	}
	switch {
	case withRelease && len(rest) == 2:
		f.Release, f.Name = rest[0], rest[1]
	case !withRelease && len(rest) == 1:
		f.Name = rest[0]
	default:
		return catalogue.File{}, false
	}
	return f, true
}

// referencePath is the inverse of reference with a release. Its segments are
// escaped.
func referencePath(f catalogue.File) string {
	var b strings.Builder
	writeReference(&b, f)
	return strings.TrimPrefix(b.String(), "/")
}

// writeReference writes the path of a file with a slash before each segment.
func writeReference(b *strings.Builder, f catalogue.File) {
	for _, s := range append(f.Segments(), f.Release, f.Name) {
		b.WriteByte('/')
		b.WriteString(url.PathEscape(s))
	}
}

// link returns a download link as the service writes it: the id under the
// upper-case name ID, in some links behind a slash, and the tag of a variant. The id
// comes escaped.
func link(base string, f catalogue.File, id string, slash bool) string {
	var b strings.Builder
	b.Grow(128)
	b.WriteString(base)
	b.WriteString("/Download")
	writeReference(&b, f)
	if slash {
		b.WriteByte('/')
	}
	b.WriteString("?ID=")
	b.WriteString(id)
	if f.Tag != "" {
		b.WriteString("&tag=")
		b.WriteString(url.QueryEscape(f.Tag))
	}
	return b.String()
}
