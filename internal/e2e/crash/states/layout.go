package states

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// Write lays an image out in a folder that does not exist yet. Files get the times that they
// had, and the proofs in a state file get the numbers that their files have here.
func (i *Image) Write(folder string) error {
	first := map[int]string{}
	for _, e := range i.Entries {
		path := filepath.Join(folder, e.Path)
		if other, found := first[e.inode]; found && e.Mode.Type() != fs.ModeDir {
			if err := os.Link(other, path); err != nil {
				return err
			}
			continue
		}
		first[e.inode] = path
		if err := i.write(e, path); err != nil {
			return err
		}
	}
	if err := i.translate(first); err != nil {
		return err
	}
	for _, e := range slices.Backward(i.Entries) {
		path := filepath.Join(folder, e.Path)
		if e.Mode.Type() == fs.ModeSymlink {
			continue
		}
		err := os.Chmod(path, e.Mode.Perm())
		if at := i.trace.inodes[e.inode].modTime; !at.IsZero() {
			err = errors.Join(err, os.Chtimes(path, at, at))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (i *Image) write(e Entry, path string) error {
	switch e.Mode.Type() {
	case fs.ModeDir:
		return os.Mkdir(path, 0o700)
	case fs.ModeSymlink:
		return os.Symlink(e.Target, path)
	}
	return os.WriteFile(path, i.Bytes(e), 0o600)
}

// A proof is a digest, and size, time and inode number of the file: package store has it.
const (
	digestSize  = 32
	inodeOffset = digestSize + 16
)

// translate writes the inode numbers of this file system over those of the traced one. paths
// are the first names of the inodes.
func (i *Image) translate(paths map[int]string) error {
	for _, e := range i.Entries {
		if e.Mode.Type() != 0 || len(e.blocks) == 0 || !isDatabase(i.trace.blobs[max(e.blocks[0], -e.blocks[0])]) {
			continue
		}
		data := i.Bytes(e)
		for _, object := range i.Entries {
			id, err := hex.DecodeString(filepath.Base(object.Path))
			if err != nil || len(id) != digestSize {
				continue
			}
			info, err := os.Lstat(paths[object.inode])
			if err != nil {
				return err
			}
			proof(data, id, i.trace.inodes[object.inode].number, info.Sys().(*syscall.Stat_t).Ino)
		}
		if err := os.WriteFile(paths[e.inode], data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// proof gives each proof of an object another inode number. Pages of bbolt have no sum.
func proof(data, id []byte, was, is uint64) {
	for at := 0; ; at++ {
		next := bytes.Index(data[at:], id)
		if at += next; next < 0 || at+inodeOffset+8 > len(data) {
			return
		}
		number := data[at+inodeOffset:][:8]
		if big.Uint64(number) == was {
			big.PutUint64(number, is)
		}
	}
}
