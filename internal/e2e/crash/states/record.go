package states

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// traced are the system calls that can change a folder. strace does not know one with a
// question mark in every version; compare finds what it did.
const traced = "open,openat,creat,close,write,pwrite64,writev,pwritev,pwritev2,ftruncate,truncate,fallocate,fsync,fdatasync,syncfs,sync," +
	"rename,renameat,renameat2,link,linkat,symlink,symlinkat,unlink,unlinkat,mkdir,mkdirat,rmdir,chmod,fchmod,fchmodat,?fchmodat2," +
	"lseek,copy_file_range,sendfile,splice,mknodat,bind"

// Record runs a command under strace and returns what it and its children did to a folder.
// It fails when the calls that it knows do not explain what the folder has afterwards.
func Record(cmd *exec.Cmd, folder string) (*Trace, error) {
	r := &recorder{Trace: &Trace{inodes: make([]inode, 1), first: map[slot]int64{}, blobs: [][]byte{nil}, blobOf: map[string]int64{}}, folder: folder, now: map[slot]int64{}, open: map[int]*file{}}
	if _, err := r.snapshot(".", map[uint64]int{}); err != nil {
		return nil, err
	}
	for s, is := range r.first {
		r.now[s] = is
	}
	log, err := os.CreateTemp("", "syncd-strace-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = errors.Join(log.Close(), os.Remove(log.Name())) }()
	run := exec.Command("strace", append([]string{"-f", "-y", "-ttt", "-xx", "-s", "16777216", "-e", "signal=none", "-o", log.Name(), "-e", "trace=" + traced}, cmd.Args...)...)
	run.Dir, run.Env, run.Stdin, run.Stdout = cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout
	var stderr bytes.Buffer
	run.Stderr = &stderr
	if err := run.Run(); err != nil {
		return nil, fmt.Errorf("strace %s: %w\n%s", strings.Join(cmd.Args, " "), err, &stderr)
	}
	if err := eachCall(log, r.clock, r.begin, r.end); err != nil {
		return nil, err
	}
	if r.reported == 0 {
		r.reported = len(r.events)
	}
	r.index()
	return r.Trace, r.compare()
}

// recorder follows the calls of a process.
type recorder struct {
	*Trace
	folder string
	now    map[slot]int64
	open   map[int]*file // by descriptor
	timed  int           // the number of events that have a time
}

// file is what a descriptor has open.
type file struct {
	inode int
	at    int64
	isLog bool // each write goes to the end
}

// snapshot takes up what is in the folder. seen are the inodes with several names.
func (r *recorder) snapshot(name string, seen map[uint64]int) (int, error) {
	path := filepath.Join(r.folder, name)
	info, err := os.Lstat(path)
	if err != nil {
		return 0, err
	}
	stat := info.Sys().(*syscall.Stat_t)
	if number, found := seen[stat.Ino]; found {
		return number, nil
	}
	number := r.add(info.Mode().Type(), "")
	r.inodes[number].number, r.inodes[number].modTime = stat.Ino, info.ModTime()
	seen[stat.Ino] = number
	r.first[slot{kind: modeSlot, inode: number}] = int64(info.Mode().Perm())
	switch info.Mode().Type() {
	case fs.ModeSymlink:
		r.inodes[number].target, err = os.Readlink(path)
		return number, err
	case fs.ModeSocket:
		return number, nil
	case 0:
		data, err := os.ReadFile(path)
		for s, is := range r.written(number, 0, data) {
			r.first[s] = is
		}
		r.first[slot{kind: sizeSlot, inode: number}] = int64(len(data))
		return number, err
	}
	names, err := os.ReadDir(path)
	if err != nil {
		return 0, err
	}
	for _, child := range names {
		is, err := r.snapshot(filepath.Join(name, child.Name()), seen)
		if err != nil {
			return 0, err
		}
		r.first[slot{kind: nameSlot, inode: number, name: child.Name()}] = int64(is)
	}
	return number, nil
}

// shortened reads a path below an open folder, as sockets have it.
func shortened(path string) (fd int, name string, is bool) {
	rest, is := strings.CutPrefix(path, "/proc/self/fd/")
	number, name, _ := strings.Cut(rest, "/")
	return int(numberIn(number)), name, is
}

func (r *recorder) add(kind fs.FileMode, target string) int {
	r.inodes = append(r.inodes, inode{kind: kind, target: target})
	return len(r.inodes) - 1
}

// written are the blocks of a file after a write.
func (r *recorder) written(number int, at int64, data []byte) map[slot]int64 {
	blocks := map[slot]int64{}
	for len(data) > 0 {
		s := slot{kind: blockSlot, inode: number, block: at / blockSize}
		block := make([]byte, blockSize)
		copy(block, r.blobs[r.now[s]])
		n := copy(block[at%blockSize:], data)
		blocks[s] = r.intern(block)
		data, at = data[n:], at+int64(n)
	}
	return blocks
}

// do notes a change of several slots.
func (r *recorder) do(what string, changes ...change) {
	for _, c := range changes {
		r.now[c.slot] = c.is
	}
	r.events = append(r.events, event{What: what, changes: changes})
}

func (r *recorder) write(what string, number int, at int64, data []byte) {
	var changes []change
	for s, is := range r.written(number, at, data) {
		changes = append(changes, change{s, is})
	}
	size := slot{kind: sizeSlot, inode: number}
	if end := at + int64(len(data)); end > r.now[size] {
		changes = append(changes, change{size, end})
	}
	r.do(what, changes...)
}

func (r *recorder) truncate(what string, number int, size int64) {
	s := slot{kind: sizeSlot, inode: number}
	changes := []change{{s, size}}
	for at := size / blockSize; at*blockSize < r.now[s]; at++ {
		block := slot{kind: blockSlot, inode: number, block: at}
		kept := r.blobs[r.now[block]]
		changes = append(changes, change{block, r.intern(kept[:min(max(0, size-at*blockSize), int64(len(kept)))])})
	}
	r.do(what, changes...)
}

// find returns the inode of a path below the folder, 0 for none or one outside.
func (r *recorder) find(path string) int {
	dir, name := r.place(path)
	if dir == 0 || name == "." {
		return dir
	}
	return int(r.now[slot{kind: nameSlot, inode: dir, name: name}])
}

// place returns the folder of a path and its name there: 0 for a path outside, and "." for the
// folder itself.
func (r *recorder) place(path string) (dir int, name string) {
	path = filepath.Clean(path)
	if path == r.folder {
		return 1, "."
	}
	if fd, name, isShort := shortened(path); isShort && r.open[fd] != nil {
		return r.open[fd].inode, name
	}
	rel, found := strings.CutPrefix(path, r.folder+"/")
	if !found {
		return 0, ""
	}
	dir = 1
	parts := strings.Split(rel, "/")
	for _, part := range parts[:len(parts)-1] {
		dir = int(r.now[slot{kind: nameSlot, inode: dir, name: part}])
		if dir == 0 || r.inodes[dir].kind != fs.ModeDir {
			return 0, ""
		}
	}
	return dir, parts[len(parts)-1]
}

// compare fails when the folder is not what the calls made of it, and takes up what they do
// not tell: the numbers and times of new files.
func (r *recorder) compare() error {
	got := &recorder{Trace: &Trace{inodes: make([]inode, 1), first: map[slot]int64{}, blobs: r.blobs, blobOf: r.blobOf}, folder: r.folder}
	if _, err := got.snapshot(".", map[uint64]int{}); err != nil {
		return err
	}
	got.index()
	numbers := map[int]int{}
	var same func(path string, mine, other int) error
	same = func(path string, mine, other int) error {
		m, o := &r.inodes[mine], got.inodes[other]
		if m.kind != o.kind || m.target != o.target || numbers[mine] != 0 && numbers[mine] != other || mine == 0 || other == 0 {
			return fmt.Errorf("%s: the traced calls made inode %d (%v), and it is %d (%v)", path, mine, m.kind, other, o.kind)
		}
		if numbers[mine] != 0 {
			return nil
		}
		numbers[mine], m.number, m.modTime = other, o.number, o.modTime
		return errors.Join(r.sameSlots(path, mine, other, got), r.sameNames(path, mine, other, got, same))
	}
	return same(".", 1, 1)
}

// sameSlots compares size, bytes and permissions.
func (r *recorder) sameSlots(path string, mine, other int, got *recorder) error {
	kinds := map[fs.FileMode][]slotKind{0: {modeSlot, sizeSlot}, fs.ModeDir: {modeSlot}}[r.inodes[mine].kind]
	var slots []slot
	for _, kind := range kinds {
		slots = append(slots, slot{kind: kind, inode: mine})
	}
	for at := int64(0); at*blockSize < r.now[slot{kind: sizeSlot, inode: mine}]; at++ {
		slots = append(slots, slot{kind: blockSlot, inode: mine, block: at})
	}
	for _, s := range slots {
		is := s
		is.inode = other
		if r.now[s] != got.first[is] {
			return fmt.Errorf("%s: %v is %d, and the traced calls made it %d", path, is, got.first[is], r.now[s])
		}
	}
	return nil
}

func (r *recorder) sameNames(path string, mine, other int, got *recorder, same func(string, int, int) error) (err error) {
	names := map[string]bool{}
	for _, name := range append(r.Trace.names[mine], got.Trace.names[other]...) {
		names[name] = true
	}
	for name := range names {
		m, o := r.now[slot{kind: nameSlot, inode: mine, name: name}], got.first[slot{kind: nameSlot, inode: other, name: name}]
		if m != 0 || o != 0 {
			err = errors.Join(err, same(filepath.Join(path, name), int(m), int(o)))
		}
	}
	return err
}

// numberIn reads a number as strace prints it.
func numberIn(text string) int64 {
	digits, _, _ := strings.Cut(text, "<")
	n, _ := strconv.ParseInt(strings.TrimSpace(digits), 0, 64)
	return n
}
