package changes

import "context"

// Loss is how many of the rows of a file, or of all files, are gone.
type Loss struct {
	Path string `json:"path,omitempty"` // "" for all files
	Gone int64  `json:"gone"`
	Of   int64  `json:"of"`
}

// Share is the part of the rows that is gone. A single row has none: it is often the date
// or the version of the other files.
func (l Loss) Share() float64 {
	if l.Of <= 1 {
		return 0
	}
	return float64(l.Gone) / float64(l.Of)
}

// Losses returns the worst loss of a file that both folders have, and that of the folder as
// a whole. Files that did not change are read only if a file with rows is gone: without
// one, the folder as a whole loses no larger share than its worst file. A text file that is
// binary now has lost all its rows.
func (c Comparison) Losses(ctx context.Context, before, after Folder, all []Change) (worst, whole Loss, err error) {
	removed := int64(0)
	same := map[string]bool{}
	for _, file := range before.Files {
		same[file.Path] = true
	}
	for _, change := range all {
		switch delete(same, change.Path); {
		case change.Kind == Moved:
			continue
		case change.Kind == Added:
			continue
		}
		loss := Loss{Path: change.Path}
		if change.Rows != nil {
			loss.Gone, loss.Of = change.Rows.Gone, change.Rows.Before
		} else if change.Kind == Changed {
			if loss.Of, err = c.count(ctx, before, change.Path); err != nil {
				return worst, whole, err
			}
			loss.Gone = loss.Of
		}
		whole.Gone, whole.Of = whole.Gone+loss.Gone, whole.Of+loss.Of
		if change.Kind == Removed {
			removed += loss.Gone
		} else if loss.Share() > worst.Share() {
			worst = loss
		}
	}
	if removed == 0 {
		return worst, Loss{}, nil
	}
	for path := range same {
		rows, err := c.count(ctx, before, path)
		if err != nil {
			return worst, whole, err
		}
		whole.Of += rows
	}
	return worst, whole, nil
}

// count returns the rows of one file, none of a binary one.
func (c Comparison) count(ctx context.Context, folder Folder, path string) (int64, error) {
	c.Samples = 0
	change := Change{Path: path, Kind: Removed}
	if err := c.change(ctx, folder, Folder{}, &change); err != nil || change.Rows == nil {
		return 0, err
	}
	return change.Rows.Before, nil
}
