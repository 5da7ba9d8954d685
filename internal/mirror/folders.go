package mirror

import "os"

// openFolders is how many folders of a tree are kept open at once.
const openFolders = 64

// folders are open folders within a root, at most limit at once.
type folders struct {
	root  *os.Root
	limit int
	byDir map[string]*os.File
}

// open returns a folder, which stays open until others take its place.
func (f *folders) open(dir string) (*os.File, error) {
	if folder, isOpen := f.byDir[dir]; isOpen {
		return folder, nil
	}
	if len(f.byDir) >= f.limit {
		f.close()
	}
	folder, err := f.root.Open(dir)
	if err != nil {
		return nil, err
	}
	if f.byDir == nil {
		f.byDir = make(map[string]*os.File, f.limit)
	}
	f.byDir[dir] = folder
	return folder, nil
}

func (f *folders) close() {
	for _, folder := range f.byDir {
		folder.Close()
	}
	clear(f.byDir)
}
