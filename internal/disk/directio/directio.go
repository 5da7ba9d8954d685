package directio

import (
	"errors"
	"syscall"
	"unsafe"
)

// Block is the alignment that direct I/O needs, in the file and in memory. Disks ask
// for 512 or 4,096 bytes.
const Block = 4 << 10

// Buffer returns n bytes that begin at a multiple of Block in memory.
func Buffer(n int) []byte {
	b := make([]byte, n+Block)
	skip := -int(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) & (Block - 1)
	return b[skip : skip+n : skip+n]
}

func isAligned(b []byte, at int64) bool {
	address := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	return (uint64(at)|uint64(address)|uint64(len(b)))&(Block-1) == 0
}

// isRefused is true for the errors of a kernel or a file system that cannot do it.
func isRefused(err error) bool {
	return errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.EOPNOTSUPP) || errors.Is(err, syscall.ENOSYS)
}
