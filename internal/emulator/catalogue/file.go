package catalogue

import (
	"strconv"
	"strings"
	"time"
)

// The classes of files on the wire.
const (
	ClassData      = "Data"
	ClassLibrary   = "Library"
	ClassInterface = "Interface"
	ClassProduct   = "Product"
)

var classes = []string{ClassData, ClassLibrary, ClassInterface, ClassProduct}

// ParseClass returns the class with the given name, or "" for an unknown one. It
// ignores case.
func ParseClass(s string) string {
	for _, class := range classes {
		if strings.EqualFold(class, s) {
			return class
		}
	}
	return ""
}

// File is a file of the catalogue: the segments of its reference and its content.
// Library uses OS, Compiler and Architecture; Interface uses OS, Language and
// Architecture; Data ("" means Data) and Product use none of them.
type File struct {
	Class        string
	OS           string
	Compiler     string
	Language     string
	Architecture string
	Release      string // "" takes the release of the manifest
	Name         string
	Tag          string // of a variant; "" for the usual file
	// Content is served and hashed. A file without one is listed. It is served
	// only when another release published the same reference with a content.
	Content Content
}

// Segments returns the reference without release and name. The class is first.
func (f File) Segments() []string {
	switch f.Class {
	case ClassLibrary:
		return []string{f.Class, f.OS, f.Compiler, f.Architecture}
	case ClassInterface:
		return []string{f.Class, f.OS, f.Language, f.Architecture}
	}
	return []string{f.Class}
}

// BuildNumber returns an invented build number.
func (f File) BuildNumber() string {
	return strconv.FormatUint(mix(uint64(len(f.Name)))%10000, 10)
}

// series returns the key that all releases and variants of a file share, whatever their
// case.
func (f File) series() string {
	return strings.ToLower(strings.Join(append(f.Segments(), f.Name), "\x00"))
}

// Item is a published file. Its segments are spelled as they were published.
type Item struct {
	File
	modified time.Time
	digests  *digests
}

// Modified returns when an item, opened as f, changed last.
func (it *Item) Modified(f any) time.Time {
	if info, ok := statOf(f); ok {
		return info.ModTime()
	}
	return it.modified
}

// List is what a manifest holds in one release.
type List struct {
	Release string
	Items   []*Item
	// Links replaces the links to Items when IsRaw is true.
	Links []string
	IsRaw bool
}
