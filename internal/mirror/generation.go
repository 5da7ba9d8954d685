package mirror

import (
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"time"
)

// Generation is a complete state of all mirrored manifests.
type Generation struct {
	Number      int               // 0 when nothing was published yet
	PublishedAt time.Time         // when it came into service
	Records     map[string]Record // by manifest
	Views       map[string]View   // by name
}

// Names returns the manifests of a generation, sorted.
func (g Generation) Names() []string { return slices.Sorted(maps.Keys(g.Records)) }

// revisions is a text that is equal for generations that show the same revisions.
func (g Generation) revisions() string {
	var text string
	for _, name := range g.Names() {
		text += name + "/" + g.Records[name].ID() + "\n"
	}
	return text
}

// entry is a manifest or a view of a generation: a link, a record and a file of sums.
type entry interface {
	EntryName() string
	Link() string // relative to the generation
	Write(io.Writer) error
	WriteSums(io.Writer) error
}

// entries returns the manifests and the views of a generation, sorted.
func (g Generation) entries() []entry {
	var all []entry
	for _, name := range g.Names() {
		all = append(all, g.Records[name])
	}
	for _, name := range slices.Sorted(maps.Keys(g.Views)) {
		all = append(all, g.Views[name])
	}
	return all
}

// after returns the generation that follows g with a change. Nothing is on disk yet.
func (g Generation) after(change Change) Generation {
	next := Generation{Number: g.Number + 1, PublishedAt: time.Now(), Records: map[string]Record{}, Views: map[string]View{}}
	maps.Copy(next.Records, g.Records)
	maps.Copy(next.Views, g.Views)
	for _, name := range change.Remove {
		delete(next.Records, name)
		delete(next.Views, name)
	}
	for _, record := range change.Set {
		record.Orders = g.Records[record.Manifest].Orders
		next.Records[record.Manifest] = record
	}
	for _, d := range change.Described {
		if record := next.Records[d.Manifest]; record.ID() == d.ID() {
			next.Records[d.Manifest] = record.DescribedAs(d)
		}
	}
	for name, orders := range change.Orders {
		if record, served := next.Records[name]; served {
			record.Orders = orders
			next.Records[name] = record
		}
	}
	for _, view := range change.Views {
		next.Views[view.Name] = view
	}
	return next
}

// After returns the records that follow those of g with a change. Nothing is published.
func (g Generation) After(change Change) map[string]Record { return g.after(change).Records }

const (
	recordSuffix = ".json"
	sumsSuffix   = ".SHA256SUMS"
)

func generationDir(number int) string { return filepath.Join("generations", generationName(number)) }

// GenerationDir is the directory of a generation within the data directory.
func GenerationDir(number int) string { return generationDir(number) }

// SumsName is the name of the file of sums beside a manifest or view.
func SumsName(name string) string { return name + sumsSuffix }

func generationName(number int) string { return fmt.Sprintf("%06d", number) }

// GenerationInodes is the number of inodes of a generation: its directory, and a
// link, a record and a file of sums for each manifest and view.
func GenerationInodes(entries int) int64 { return 1 + 3*int64(entries) }
