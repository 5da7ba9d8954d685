package serve

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"syncd/internal/disk/durable"
	"syncd/internal/disk/fsops"
	"syncd/internal/host/account"
)

// idBytes is the length of a new id before its encoding: 160 random bits.
const idBytes = 20

// idsMode lets the daemon read a file that another user made. It holds no id, only sums.
const idsMode = 0o644

// AddID makes an id and adds a line for it to the file. The id is shown once: the file
// has only its sum.
func AddID(path, name, ring string) (id string, err error) {
	for _, text := range []string{name, ring} {
		if text != "" && !nameForm.MatchString(text) || name == "" {
			return "", errors.New("a name has up to 64 letters, digits, dots, underscores and dashes")
		}
	}
	secret := make([]byte, idBytes)
	if _, err := rand.Read(secret); err != nil {
		return "", err
	}
	id = strings.ToLower(base32.StdEncoding.EncodeToString(secret))
	err = changeIDs(path, func(text []byte, all []Identity) ([]byte, error) {
		if slices.ContainsFunc(all, func(known Identity) bool { return known.Name == name }) {
			return nil, fmt.Errorf("%s has an id already: remove it first, or choose another name", name)
		}
		if len(text) > 0 && !bytes.HasSuffix(text, []byte("\n")) {
			text = append(text, '\n')
		}
		return append(text, Identity{Name: name, Ring: ring, sum: sha256.Sum256([]byte(id))}.line()...), nil
	})
	if err != nil {
		return "", err
	}
	return id, nil
}

// RemoveID removes the line of a name. Comments stay.
func RemoveID(path, name string) error {
	return changeIDs(path, func(text []byte, all []Identity) ([]byte, error) {
		if !slices.ContainsFunc(all, func(known Identity) bool { return known.Name == name }) {
			return nil, fmt.Errorf("%s has no id: `syncd serve-id list` shows the names", name)
		}
		var rest []byte
		for line := range bytes.Lines(text) {
			if words := strings.Fields(string(line)); len(words) < 2 || strings.HasPrefix(words[0], "#") || words[1] != name {
				rest = append(rest, line...)
			}
		}
		return rest, nil
	})
}

// changeIDs replaces the file in one step, and keeps its owner and permissions. Other
// changes wait. Where another user could put a link to a file of root in its place, root
// has the permissions of that user only.
func changeIDs(path string, change func(text []byte, all []Identity) ([]byte, error)) error {
	writer, err := account.WriterOf(path)
	if err != nil {
		return fmt.Errorf("serve.ids_file: %w", err)
	}
	err = writer.Do(func() error { return changeAsWriter(path, change) })
	if err != nil && os.Geteuid() == 0 && writer.UID != 0 {
		err = fmt.Errorf("with the permissions of user %s, who can write on the way to the file: %w", writer.Name, err)
	}
	return err
}

func changeAsWriter(path string, change func(text []byte, all []Identity) ([]byte, error)) error {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	dir, err := fsops.OpenDir(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	unlock, err := lockIDs(dir, "."+filepath.Base(path)+".lock")
	if err != nil {
		return err
	}
	defer unlock()
	text, info, err := fsops.ReadRegular(path, maxIDs)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	all, err := parseIDs(text)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if text, err = change(text, all); err != nil {
		return err
	}
	return replaceIDs(dir, path, info, text)
}

// lockIDs keeps other changes away until the returned function is called. The lock is a file
// that only this user can open: whoever can open a file can hold a lock of it for ever.
func lockIDs(dir *fsops.Dir, name string) (unlock func(), err error) {
	for {
		file, err := dir.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, err
		}
		if err := unix.Flock(int(file.Fd()), unix.LOCK_EX); err != nil {
			return nil, errors.Join(err, file.Close())
		}
		held, err := file.Stat()
		if err != nil {
			return nil, errors.Join(err, file.Close())
		}
		if found, err := dir.Lstat(name); err == nil && os.SameFile(held, found) {
			return func() {
				_ = dir.Remove(name) // the next change takes one that is left
				file.Close()
			}, nil
		}
		file.Close() // another change has removed it
	}
}

func replaceIDs(dir *fsops.Dir, path string, before fs.FileInfo, text []byte) error {
	mode := fs.FileMode(idsMode)
	if before != nil {
		mode = before.Mode().Perm()
	}
	err := (&durable.Disk{}).ReplaceFile(dir, filepath.Base(path), mode, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
	if err != nil || before == nil || os.Geteuid() != 0 {
		return err
	}
	owner := before.Sys().(*syscall.Stat_t) //nolint:forcetypeassert // on Linux it has no other type
	return os.Lchown(path, int(owner.Uid), int(owner.Gid))
}
