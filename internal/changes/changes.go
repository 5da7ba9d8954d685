package changes

import (
	"cmp"
	"context"
	"os"
	"slices"

	"syncd/internal/changes/spill"
	"syncd/internal/manifest"
)

// File is one file of a folder.
type File struct {
	Path   string
	Size   int64
	Object manifest.ObjectID
}

// Folder is one side of a comparison. Open is only asked for paths of Files.
type Folder struct {
	Files []File
	Open  func(path string) (*os.File, error)
}

// Kind says what became of a file.
type Kind string

// The kinds of changes.
const (
	Added   Kind = "added"
	Removed Kind = "removed"
	Changed Kind = "changed"
	Moved   Kind = "moved" // the same content under another path
)

// Change is one file that differs.
type Change struct {
	Path       string `json:"path"`
	Was        string `json:"was,omitempty"` // the earlier path of a moved file
	Kind       Kind   `json:"change"`
	SizeBefore int64  `json:"size_before"`
	SizeAfter  int64  `json:"size_after"`
	Binary     bool   `json:"binary,omitempty"`
	Rows       *Rows  `json:"rows,omitempty"` // only when rows were asked for, of a text file
	Note       string `json:"note,omitempty"` // why rows were compared in another way than the configuration says
}

// Rows is how the rows of a file differ.
type Rows struct {
	Format        string           `json:"format"`
	Before        int64            `json:"before"` // rows of the earlier file
	After         int64            `json:"after"`
	Added         int64            `json:"added"`
	Gone          int64            `json:"gone"`
	Changed       int64            `json:"changed"`
	Columns       map[string]int64 `json:"columns,omitempty"` // changed rows by column; a row counts in each of its columns
	HeaderChanged bool             `json:"header_changed,omitempty"`
	Samples       *Samples         `json:"samples,omitempty"`
}

// Samples are the first rows of each kind, as text.
type Samples struct {
	Added   []string        `json:"added,omitempty"`
	Gone    []string        `json:"gone,omitempty"`
	Changed []ChangedSample `json:"changed,omitempty"`
}

// ChangedSample is a row with a key, before and after.
type ChangedSample struct {
	Before  string   `json:"before"`
	After   string   `json:"after"`
	Columns []string `json:"columns,omitempty"`
}

// Report is how two folders differ.
type Report struct {
	Manifest string   `json:"manifest"`
	From     string   `json:"from"`
	To       string   `json:"to"`
	Files    []Change `json:"files"`
	Summary  Summary  `json:"summary"`
}

// Summary counts all changes. It holds no content.
type Summary struct {
	Files       FileCounts `json:"files"`
	BytesBefore int64      `json:"bytes_before"`
	BytesAfter  int64      `json:"bytes_after"`
	Rows        *RowCounts `json:"rows,omitempty"` // nil if no rows were compared
}

// FileCounts counts files by what became of them.
type FileCounts struct {
	Added   int `json:"added"`
	Removed int `json:"removed"`
	Changed int `json:"changed"`
	Moved   int `json:"moved"`
}

// RowCounts counts the rows of all text files.
type RowCounts struct {
	Added   int64 `json:"added"`
	Gone    int64 `json:"gone"`
	Changed int64 `json:"changed"`
}

// Any is true when any file differs.
func (s Summary) Any() bool { return s.Files != FileCounts{} }

// Files compares two lists of files without reading a byte of them. A file that is gone
// and one that came with the same content are one moved file.
func Files(before, after []File) []Change {
	earlier := make(map[string]File, len(before))
	for _, file := range before {
		earlier[file.Path] = file
	}
	var all []Change
	var came []File
	for _, file := range after {
		was, both := earlier[file.Path]
		switch {
		case !both:
			came = append(came, file)
		case was.Object != file.Object:
			all = append(all, Change{Path: file.Path, Kind: Changed, SizeBefore: was.Size, SizeAfter: file.Size})
		}
		delete(earlier, file.Path)
	}
	gone := slices.SortedFunc(func(yield func(File) bool) {
		for _, file := range earlier {
			if !yield(file) {
				return
			}
		}
	}, byPath)
	slices.SortFunc(came, byPath)
	from := map[manifest.ObjectID][]File{}
	for _, file := range gone {
		from[file.Object] = append(from[file.Object], file)
	}
	moved := map[string]bool{}
	for _, file := range came {
		change := Change{Path: file.Path, Kind: Added, SizeAfter: file.Size}
		if same := from[file.Object]; len(same) > 0 {
			change = Change{Path: file.Path, Was: same[0].Path, Kind: Moved, SizeBefore: same[0].Size, SizeAfter: file.Size}
			moved[same[0].Path], from[file.Object] = true, same[1:]
		}
		all = append(all, change)
	}
	for _, file := range gone {
		if !moved[file.Path] {
			all = append(all, Change{Path: file.Path, Kind: Removed, SizeBefore: file.Size})
		}
	}
	slices.SortFunc(all, func(a, b Change) int { return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Kind, b.Kind)) })
	return all
}

func byPath(a, b File) int { return cmp.Compare(a.Path, b.Path) }

// Summarize counts changes.
func Summarize(before, after []File, all []Change) Summary {
	var s Summary
	for _, file := range before {
		s.BytesBefore += file.Size
	}
	for _, file := range after {
		s.BytesAfter += file.Size
	}
	for _, change := range all {
		switch change.Kind {
		case Added:
			s.Files.Added++
		case Removed:
			s.Files.Removed++
		case Changed:
			s.Files.Changed++
		case Moved:
			s.Files.Moved++
		}
		if change.Rows == nil {
			continue
		}
		if s.Rows == nil {
			s.Rows = &RowCounts{}
		}
		s.Rows.Added += change.Rows.Added
		s.Rows.Gone += change.Rows.Gone
		s.Rows.Changed += change.Rows.Changed
	}
	return s
}

// Comparison compares rows. Its files are read one pair at a time, on one core.
type Comparison struct {
	Rules   []Rule       // the first whose pattern matches a path says how to read it
	Scratch spill.Folder // for rows that do not fit into memory
	Samples int          // how many rows of each kind to show; 0 for none

	tables, memory int // slots of a table of waiting rows, and rows to sort at once; 0 for the usual numbers
}

// Rows fills in the rows of every change between two folders.
func (c Comparison) Rows(ctx context.Context, before, after Folder, all []Change) error {
	for i := range all {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if all[i].Kind == Moved {
			continue
		}
		if err := c.change(ctx, before, after, &all[i]); err != nil {
			return err
		}
	}
	return nil
}

// change compares the rows of one file.
func (c Comparison) change(ctx context.Context, before, after Folder, change *Change) error {
	var files [2]content
	for side, folder := range []Folder{before, after} {
		if (side == 0 && change.Kind == Added) || (side == 1 && change.Kind == Removed) {
			continue
		}
		file, err := folder.Open(change.Path)
		if err != nil {
			return err
		}
		defer file.Close()
		info, err := file.Stat()
		if err != nil {
			return err
		}
		files[side] = content{ReaderAt: file, size: info.Size()}
	}
	return c.pair(ctx, files, change)
}
