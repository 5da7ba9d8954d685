package patch

import (
	"context"
	"fmt"
	"io"
	"os"

	"syncd/internal/changes"
	"syncd/internal/disk/directio"
	"syncd/internal/manifest"
)

// Cost is how many bytes carry a content in each form.
type Cost struct {
	Path   string       `json:"path"`
	Change changes.Kind `json:"change"` // added or changed
	Whole  int64        `json:"whole"`
	Zstd   int64        `json:"zstd"`
	Patch  *int64       `json:"patch,omitempty"` // nil without an earlier content
}

// Smallest is the form that a host would be sent.
func (c Cost) Smallest() int64 {
	least := min(c.Whole, c.Zstd)
	if c.Patch != nil {
		least = min(least, *c.Patch)
	}
	return least
}

// Sum adds up the costs of files.
type Sum struct {
	Whole    int64 `json:"whole"`
	Zstd     int64 `json:"zstd"`
	Smallest int64 `json:"smallest"` // the smallest form of each file
}

// SumOf adds up costs.
func SumOf(costs []Cost) (s Sum) {
	for _, c := range costs {
		s.Whole += c.Whole
		s.Zstd += c.Zstd
		s.Smallest += c.Smallest()
	}
	return s
}

// Estimate makes every form of the contents that a folder has and an earlier one lacks, and
// keeps none. A content with several paths counts once. It reads files without changing the
// page cache.
func Estimate(ctx context.Context, before, after changes.Folder) ([]Cost, error) {
	earlier, had := map[string]changes.File{}, map[manifest.ObjectID]bool{}
	for _, file := range before.Files {
		earlier[file.Path], had[file.Object] = file, true
	}
	costs := []Cost{}
	for _, file := range after.Files {
		if had[file.Object] {
			continue
		}
		had[file.Object] = true
		c, err := costOf(ctx, after, file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file.Path, err)
		}
		if was, both := earlier[file.Path]; both {
			c.Change = changes.Changed
			if c.Patch, err = patchOf(ctx, before, after, was, file); err != nil {
				return nil, fmt.Errorf("%s: %w", file.Path, err)
			}
		}
		costs = append(costs, c)
	}
	return costs, nil
}

func costOf(ctx context.Context, folder changes.Folder, file changes.File) (Cost, error) {
	f, err := folder.Open(file.Path)
	if err != nil {
		return Cost{}, err
	}
	defer f.Close()
	c := Cost{Path: file.Path, Change: changes.Added, Whole: file.Size}
	c.Zstd, err = Compressed(ctx, io.NewSectionReader(uncached{f}, 0, file.Size))
	return c, err
}

func patchOf(ctx context.Context, before, after changes.Folder, was, is changes.File) (*int64, error) {
	var sides [2]Content
	for i, side := range []struct {
		folder changes.Folder
		file   changes.File
	}{{before, was}, {after, is}} {
		f, err := side.folder.Open(side.file.Path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		sides[i] = Content{uncached{f}, Identity{side.file.Size, side.file.Object}}
	}
	p, err := Make(ctx, sides[0], sides[1], discard{})
	if err != nil {
		return nil, err
	}
	size := p.Size()
	return &size, nil
}

// uncached reads a file without keeping it in the page cache.
type uncached struct{ *os.File }

func (u uncached) ReadAt(b []byte, at int64) (int, error) { return directio.ReadAt(u.File, b, at) }

// discard drops a patch.
type discard struct{}

func (discard) WriteAt(b []byte, _ int64) (int, error) { return len(b), nil }
