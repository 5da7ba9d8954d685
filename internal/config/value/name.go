package value

import (
	"path"
	"regexp"
	"strings"

	"syncd/internal/config/document"
	"syncd/internal/manifest"
)

var namePattern = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,199}$`)

// Name accepts names that are safe for a file and a directory.
func Name(text string) (string, *document.Fault) {
	switch {
	case text == "":
		return "", document.Refuse("is empty", "write a name")
	case !namePattern.MatchString(text):
		return "", document.Refuse("is not usable as a name", "use at most 200 letters, digits, dots, underscores and dashes, and no dot or dash in front")
	}
	return text, nil
}

// Release accepts a release or an alias. It drops the error of manifest.ParseRelease, which
// quotes the text.
func Release(text string) (manifest.Release, *document.Fault) {
	release, err := manifest.ParseRelease(text)
	if err != nil {
		return "", RefuseNumber(text, "is not a release", "use latest, a month such as 2026.10, a quarter such as 2026.Q4 or a two-month period such as 2026.B5")
	}
	return release, nil
}

var (
	// Segment accepts one plain path segment, such as an operating system.
	Segment = Accepting(isSegment, "is not a plain word", "use a name such as LINUX, GCC48, JAVA or 64BIT")
	// Product accepts the name of a product.
	Product = Accepting(isSegment, "is not the name of a product", "use a name such as DataQualitySuite")
	// Tag accepts a tag that needs no escaping in a query.
	Tag = Accepting(ParamPattern.MatchString, "is not a tag", "use letters, digits, dots, underscores and dashes, such as NET7")
)

// isSegment is true for one plain path segment.
func isSegment(text string) bool {
	return manifest.CheckSegment(text) == nil && strings.TrimSpace(text) == text
}

// Reference accepts the path of a file, with a release or an alias, and returns it
// with the release in its usual form.
func Reference(text string) (string, *document.Fault) {
	const next = "use a path such as Data/latest/ews.txt or Library/LINUX/GCC48/64BIT/2026.10/libmdAddr.so"
	ref, err := manifest.ParseReference(text)
	if err != nil {
		return "", document.Refuse("is not the path of a file", next)
	}
	release, err := manifest.ParseRelease(string(ref.Release()))
	if err != nil {
		return "", document.Refuse("its release is not latest, a month, a quarter or a two-month period", next)
	}
	return ref.WithRelease(release).String(), nil
}

// Glob accepts globs that can match a path.
func Glob(text string) (string, *document.Fault) {
	const next = "use * ? and [a-z], such as *.dat or linux/*/64bit/*"
	if _, err := path.Match(text, ""); err != nil || text == "" {
		return "", document.Refuse("is not a glob", next)
	}
	if strings.HasPrefix(text, "/") {
		return "", document.Refuse("never matches: paths within the manifest do not begin with a slash", "remove the leading slash")
	}
	for segment := range strings.SplitSeq(text, "/") {
		if segment == "**" {
			return "", document.Refuse("** matches one folder only, as * does", "write one * for each folder, or a glob without a slash, which is compared with the file's name")
		}
	}
	return text, nil
}

// PlainName accepts a name that can stand in a file of words, in labels and in logs.
func PlainName(text string) (string, *document.Fault) {
	if !ParamPattern.MatchString(text) {
		return "", document.Refuse("is not a plain name", "use up to 64 letters, digits, dots, underscores and dashes")
	}
	return text, nil
}
