package export

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"syncd/internal/disk/fsops"
	"syncd/internal/manifest"
)

// Mark says what a tree shows. It is named by the inode of the tree, so that a tree keeps
// its mark when it is exchanged.
type Mark struct {
	Generation  int       `json:"generation"`
	Fingerprint string    `json:"fingerprint"`
	Number      int       `json:"number"`      // grows with each export
	ExportedAt  time.Time `json:"exported_at"` // right before the tree became the folder
	Linked      bool      `json:"linked"`      // each file was one with that of the source
}

const (
	markSuffix = ".json"
	listSuffix = ".files" // the files of the tree, as they were when it was built
)

func markName(inode uint64) string { return strconv.FormatUint(inode, 10) + markSuffix }

func listName(inode uint64) string { return strconv.FormatUint(inode, 10) + listSuffix }

// markedFile is a file of a tree.
type markedFile struct {
	Path    string            `json:"path"`
	Size    int64             `json:"size"`
	ModTime int64             `json:"mtime"` // nanoseconds since 1970
	Inode   uint64            `json:"inode"`
	Object  manifest.ObjectID `json:"sha256"`
}

// readMark returns the mark of a tree; fs.ErrNotExist if it has none.
func (p *place) readMark(inode uint64) (m Mark, err error) {
	text, err := readText(p.work, markName(inode))
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		return m, fmt.Errorf("%s: %w: remove this file", p.work.Path(markName(inode)), err)
	}
	return m, nil
}

func (p *place) saveMark(inode uint64, m Mark) error {
	return p.disk.ReplaceFile(p.work, markName(inode), 0o600, func(w io.Writer) error { return json.NewEncoder(w).Encode(m) })
}

// dropMark removes the mark before the list: a mark promises that there is a list.
func (p *place) dropMark(inode uint64) error {
	var err error
	for _, name := range []string{markName(inode), listName(inode)} {
		if gone := p.work.Remove(name); !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}
	return errors.Join(err, p.disk.SyncDir(p.work, "."))
}

func (p *place) saveList(inode uint64, list []markedFile) error {
	return p.disk.ReplaceFile(p.work, listName(inode), 0o600, func(w io.Writer) error {
		lines := json.NewEncoder(w)
		for i := range list {
			if err := lines.Encode(&list[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// errDamagedList says that a list cannot tell any more what was exported.
var errDamagedList = errors.New("damaged")

func (p *place) readList(inode uint64) ([]markedFile, error) {
	f, err := p.work.OpenRegular(listName(inode))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var list []markedFile
	for lines := json.NewDecoder(bufio.NewReader(f)); ; {
		var e markedFile
		if err := lines.Decode(&e); errors.Is(err, io.EOF) {
			return list, nil
		} else if err != nil {
			return nil, fmt.Errorf("%s is %w: %w: %s", f.Name(), errDamagedList, err, p.takeOverHint("makes a new folder"))
		}
		list = append(list, e)
	}
}

// marks returns every mark by inode.
func (p *place) marks() (map[uint64]Mark, error) {
	names, err := p.work.Names(".")
	if err != nil {
		return nil, err
	}
	marks := map[uint64]Mark{}
	for _, name := range names {
		number, isMark := strings.CutSuffix(name, markSuffix)
		inode, err := strconv.ParseUint(number, 10, 64)
		if !isMark || err != nil || fsops.IsTemp(name) {
			continue
		}
		if marks[inode], err = p.readMark(inode); err != nil {
			return nil, err
		}
	}
	return marks, nil
}
