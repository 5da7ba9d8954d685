package files_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"syncd/internal/e2e"
)

// deaf is a file system with one file, whose server stops to answer questions about it.
type deaf struct {
	device int
	isDeaf atomic.Bool
}

// Numbers of the FUSE protocol.
const (
	fuseLookup, fuseGetattr, fuseOpen, fuseInit = 1, 3, 14, 26

	fuseHead = 40 // bytes before the body of a request
)

// newDeaf mounts a deaf and returns its file. abort ends every wait for it.
func newDeaf(h *e2e.Host) (fs *deaf, file string, abort func()) {
	h.Helper()
	device, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		h.Skipf("NOT TESTED: no FUSE here: %v", err)
	}
	dir := h.Path("deaf")
	h.Must(os.Mkdir(dir, 0o755))
	if err := unix.Mount("syncd-test", dir, "fuse", 0, fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0", device)); err != nil {
		h.Must(unix.Close(device))
		h.Skipf("NOT TESTED: no FUSE mount here: %v", err)
	}
	fs = &deaf{device: device}
	done := make(chan struct{})
	go func() {
		defer close(done)
		fs.serve()
	}()
	abort = sync.OnceFunc(func() {
		_ = unix.Unmount(dir, unix.MNT_FORCE) // busy, but it ends the server
		_ = unix.Unmount(dir, unix.MNT_DETACH)
		<-done
		_ = unix.Close(device)
	})
	h.Cleanup(abort)
	return fs, filepath.Join(dir, "file"), abort
}

// serve answers until the file system is unmounted.
func (fs *deaf) serve() {
	request := make([]byte, 1<<20)
	for {
		n, err := unix.Read(fs.device, request)
		if err != nil {
			return
		}
		op, node := binary.NativeEndian.Uint32(request[4:]), binary.NativeEndian.Uint64(request[16:])
		if n < fuseHead || op == fuseGetattr && fs.isDeaf.Load() {
			continue
		}
		fs.answer(request[8:16], op, node)
	}
}

func (fs *deaf) answer(unique []byte, op uint32, node uint64) {
	var body []any
	failure := int32(0)
	switch op {
	case fuseInit:
		body = []any{[]uint32{7, 31, 1 << 16, 0, 0, 1 << 16, 1, 0}, [8]uint32{}}
	case fuseLookup:
		body = []any{[5]uint64{2}, attributes(2)}
	case fuseGetattr:
		body = []any{[2]uint64{}, attributes(node)}
	case fuseOpen:
		body = []any{[2]uint64{1}}
	default:
		failure = -int32(unix.ENOSYS)
	}
	var out bytes.Buffer
	for _, part := range body {
		_ = binary.Write(&out, binary.NativeEndian, part)
	}
	head := binary.NativeEndian.AppendUint32(nil, uint32(16+out.Len()))
	head = append(binary.NativeEndian.AppendUint32(head, uint32(failure)), unique...)
	_, _ = unix.Write(fs.device, append(head, out.Bytes()...))
}

// attributes describes the folder, node 1, or the file.
func attributes(node uint64) any {
	mode := uint32(unix.S_IFREG | 0o644)
	if node == 1 {
		mode = unix.S_IFDIR | 0o755
	}
	return struct {
		Long  [6]uint64
		Short [10]uint32
	}{[6]uint64{node, 100, 1}, [10]uint32{3: mode, 4: 1, 8: 4096}}
}

func TestReadersWaitsForNoFileSystemThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	h.Sync(0)
	fs, file, abort := newDeaf(h)
	defer abort()
	holder(h, file)
	fs.isDeaf.Store(true)
	late := time.AfterFunc(time.Minute, func() {
		t.Error("readers waits for a file system that does not answer")
		abort()
	})
	defer late.Stop()
	h.Expect(0, "readers")
}
