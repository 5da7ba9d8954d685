package blocks

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// order is what the tests tell the server, and answer what it says.
type order struct {
	Do    string // create, record, recorded, cut or remove
	Disk  string
	Size  int64  // of create
	Image string // of cut: the name of the new disk
	First int    // of cut
	Other []int  // of cut
}

type answer struct {
	Error   string
	Entries []Entry
}

// serverVariable has the folder in which a process serves disks.
const serverVariable = "SYNCD_BLOCKS"

// IsServer is true in a process that Start started.
func IsServer() bool { return os.Getenv(serverVariable) != "" }

// Serve serves disks until its input ends, and returns the exit status of the process. At the
// end nothing stays mounted below the folder, also when the tests were killed.
func Serve() int {
	folder := os.Getenv(serverVariable)
	s := &server{disks: map[string]*disk{}}
	mount, err := fs.Mount(folder+"/fuse", &root{server: s}, &fs.Options{MountOptions: fuse.MountOptions{DirectMountStrict: true, FsName: "syncd-blocks", Name: "syncd-blocks", MaxWrite: 128 << 10, DisableXAttrs: true}})
	if err != nil {
		_ = json.NewEncoder(os.Stdout).Encode(answer{Error: err.Error()}) // nobody may wait for it
		return 1
	}
	defer detach(folder)
	go mount.Wait()
	out := json.NewEncoder(os.Stdout)
	in := json.NewDecoder(bufio.NewReader(os.Stdin))
	reply := answer{}
	for {
		if err := out.Encode(reply); err != nil {
			return 0
		}
		var o order
		if err := in.Decode(&o); err != nil {
			return 0
		}
		reply = s.obey(o)
	}
}

// detach takes down what is mounted below a folder, the latest first. The loop devices end
// with the last that uses them.
func detach(folder string) {
	f, err := os.Open("/proc/self/mounts")
	if err != nil {
		return
	}
	defer f.Close()
	text, _ := io.ReadAll(f)
	var points []string
	for line := range strings.Lines(string(text)) {
		if parts := strings.Fields(line); len(parts) > 1 && strings.HasPrefix(parts[1], folder+"/") {
			points = append(points, parts[1])
		}
	}
	for _, point := range slices.Backward(points) {
		_ = unix.Unmount(point, unix.MNT_DETACH) // there is nothing else to try
	}
}

// server has the disks by their names.
type server struct {
	mu    sync.Mutex
	disks map[string]*disk
}

func (s *server) find(name string) *disk {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.disks[name]
}

func (s *server) put(name string, d *disk) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d == nil {
		delete(s.disks, name)
		return
	}
	s.disks[name] = d
}

func (s *server) obey(o order) (a answer) {
	d := s.find(o.Disk)
	switch {
	case o.Do == "create":
		s.put(o.Disk, newDisk(o.Size))
	case d == nil:
		a.Error = "no disk " + o.Disk
	case o.Do == "record":
		d.record()
	case o.Do == "recorded":
		a.Entries = d.recorded()
	case o.Do == "cut":
		s.put(o.Image, d.cut(o.First, o.Other))
	case o.Do == "remove":
		s.put(o.Disk, nil)
	default:
		a.Error = fmt.Sprintf("cannot %q", o.Do)
	}
	return a
}

// root is the folder that has the disks as files.
type root struct {
	fs.Inode
	*server
}

func (r *root) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	d := r.find(name)
	if d == nil {
		return nil, syscall.ENOENT
	}
	out.Mode, out.Size = syscall.S_IFREG|0o600, uint64(d.size) //nolint:gosec // not below 0
	return r.NewInode(ctx, &file{disk: d}, fs.StableAttr{Mode: syscall.S_IFREG}), 0
}

// file is a disk as a file.
type file struct {
	fs.Inode
	*disk
}

var (
	_ fs.NodeGetattrer = (*file)(nil)
	_ fs.NodeSetattrer = (*file)(nil)
	_ fs.NodeOpener    = (*file)(nil)
	_ fs.NodeReader    = (*file)(nil)
	_ fs.NodeWriter    = (*file)(nil)
	_ fs.NodeFsyncer   = (*file)(nil)
)

func (f *file) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	out.Mode, out.Size = syscall.S_IFREG|0o600, uint64(f.size) //nolint:gosec // not below 0
	return 0
}

// Setattr changes nothing: only times are set.
func (f *file) Setattr(ctx context.Context, h fs.FileHandle, _ *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	return f.Getattr(ctx, h, out)
}

func (f *file) Open(context.Context, uint32) (fs.FileHandle, uint32, syscall.Errno) {
	return nil, fuse.FOPEN_DIRECT_IO, 0
}

func (f *file) Read(_ context.Context, _ fs.FileHandle, data []byte, at int64) (fuse.ReadResult, syscall.Errno) {
	data = data[:max(0, min(int64(len(data)), f.size-at))]
	f.read(data, at)
	return fuse.ReadResultData(data), 0
}

func (f *file) Write(_ context.Context, _ fs.FileHandle, data []byte, at int64) (uint32, syscall.Errno) {
	if at+int64(len(data)) > f.size {
		return 0, syscall.ENOSPC
	}
	f.write(data, at)
	return uint32(len(data)), 0 //nolint:gosec // at most MaxWrite
}

func (f *file) Fsync(context.Context, fs.FileHandle, uint32) syscall.Errno {
	f.flush()
	return 0
}
