package mirror

import (
	"os"

	"syncd/internal/fsops"
)

// maxOpenDirs is how many directories of a tree are kept open at once.
const maxOpenDirs = 64

// openDirs keeps directories within a root open, at most limit at once.
type openDirs struct {
	root  *fsops.Dir
	limit int
	byDir map[string]*os.File
}

// open returns an open directory. It closes all others first if limit are open.
func (d *openDirs) open(dir string) (*os.File, error) {
	if file, isOpen := d.byDir[dir]; isOpen {
		return file, nil
	}
	if len(d.byDir) >= d.limit {
		d.close()
	}
	file, err := d.root.Open(dir)
	if err != nil {
		return nil, err
	}
	if d.byDir == nil {
		d.byDir = make(map[string]*os.File, d.limit)
	}
	d.byDir[dir] = file
	return file, nil
}

func (d *openDirs) close() {
	for _, file := range d.byDir {
		file.Close()
	}
	clear(d.byDir)
}
