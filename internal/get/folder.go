package get

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/dustin/go-humanize"

	"syncd/internal/disk/durable"
	"syncd/internal/disk/fsops"
	"syncd/internal/disk/space"
	"syncd/internal/fetcher"
	"syncd/internal/manifest/refusal"
	"syncd/internal/verify"
)

// openFolder opens a folder. If it is missing, openFolder makes it and its parents, and
// makes their names durable.
func openFolder(name string) (*fsops.Dir, error) {
	if err := makeFolder(filepath.Clean(name)); err != nil {
		return nil, folderError(name, err)
	}
	dir, err := fsops.OpenDir(name)
	if err != nil {
		return nil, folderError(name, err)
	}
	return dir, nil
}

func makeFolder(name string) error {
	if _, err := os.Stat(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	parent := filepath.Dir(name)
	if err := makeFolder(parent); err != nil {
		return err
	}
	if err := os.Mkdir(name, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	dir, err := fsops.OpenDir(parent)
	if err != nil {
		return err
	}
	defer dir.Close()
	return new(durable.Disk).SyncDir(dir, ".")
}

func folderError(name string, err error) error {
	if cause, ok := errors.AsType[*fs.PathError](err); ok {
		err = cause.Err
	}
	return fmt.Errorf("--output %s: %w: name a folder that you may write to", name, err)
}

// inspect returns the files that are not there yet, and shows the others. It refuses to
// replace a file with another content, unless it is forced.
func (g *getter) inspect(ctx context.Context, wishes []wish, show func(File)) (missing []wish, err error) {
	var same []File
	for _, w := range wishes {
		object, err := verify.File(ctx, g.dir, w.name, w.expected)
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err == nil:
			same = append(same, File{w.ref.String(), g.dir.Path(w.name), object.Size, object.ID, Unchanged})
			continue
		}
		if _, err := g.dir.Lstat(w.name); err == nil && !g.Force {
			return nil, refusal.Local(fmt.Sprintf("%s exists and is another file: --force replaces it", g.dir.Path(w.name)))
		}
		missing = append(missing, w)
	}
	for _, f := range same {
		show(f)
	}
	return missing, nil
}

// checkSpace refuses files that do not fit, as far as their sizes are known.
func (g *getter) checkSpace(missing []wish) error {
	var need space.Amount
	for _, w := range missing {
		need = need.Plus(space.OfContent(max(w.size-g.begun(w), 0)))
		need.Inodes += 4 // the folder of the download, and its files
	}
	free, err := space.Free(g.dir)
	if err != nil {
		return err
	}
	return g.refuse(need, free)
}

func (g *getter) refuse(need, free space.Amount) error {
	switch space.Lacking(need, free) {
	case space.LacksNothing:
		return nil
	case space.LacksBytes:
		return refusal.New(refusal.NoSpace, "needs %s, %s are free in %s: make room, or name another folder with --output",
			humanize.IBytes(uint64(need.Bytes)), humanize.IBytes(uint64(free.Bytes)), g.Folder)
	}
	return refusal.New(refusal.NoSpace, "needs %d inodes, %d are free in %s: make room, or name another folder with --output", need.Inodes, free.Inodes, g.Folder)
}

// begun is the size of a file's unfinished download.
func (g *getter) begun(w wish) int64 {
	info, err := g.dir.Lstat(filepath.Join(unfinishedName(w), fetcher.Name(w.expected)))
	if err != nil {
		return 0
	}
	return info.Size()
}
