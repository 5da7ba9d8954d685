package changes

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"syncd/internal/disk/fsops"
	"syncd/internal/manifest"
)

// ReadFolder lists the files of any folder. It has no record, so every file is read for
// its digest.
func ReadFolder(ctx context.Context, dir string) (Folder, error) {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return Folder{}, err
	}
	folder := Folder{Open: func(path string) (*os.File, error) {
		file, _, err := fsops.OpenRegular(filepath.Join(dir, filepath.FromSlash(path)))
		return file, err
	}}
	err = filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := os.Stat(name)
		if err != nil || !info.Mode().IsRegular() {
			return err
		}
		path, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		file := File{Path: filepath.ToSlash(path)}
		if file.Object, file.Size, err = digest(ctx, name); err != nil {
			return err
		}
		folder.Files = append(folder.Files, file)
		return nil
	})
	return folder, err
}

func digest(ctx context.Context, name string) (id manifest.ObjectID, size int64, err error) {
	file, _, err := fsops.OpenRegular(name) // what was a file a moment ago may be a FIFO
	if err != nil {
		return id, 0, err
	}
	defer file.Close()
	hash, buffer := sha256.New(), make([]byte, fullChunk)
	for {
		if ctx.Err() != nil {
			return id, 0, context.Cause(ctx)
		}
		n, err := file.Read(buffer)
		hash.Write(buffer[:n])
		size += int64(n)
		if errors.Is(err, io.EOF) {
			return manifest.ObjectID(hash.Sum(nil)), size, nil
		}
		if err != nil {
			return id, 0, fmt.Errorf("read %s: %w", name, err)
		}
	}
}
