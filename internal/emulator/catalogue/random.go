package catalogue

import (
	"crypto/subtle"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"sync"
)

// Random returns a Content of size pseudo-random bytes, the same for the same
// seed. They are made while they are read, in constant memory and without a disk.
func Random(seed uint64, size int64) Content { return randomContent{seed, max(size, 0)} }

type randomContent struct {
	seed uint64
	size int64
}

func (c randomContent) Size() int64 { return c.size }

func (c randomContent) Open() (io.ReadSeekCloser, error) {
	return sectionReader{io.NewSectionReader(c, 0, c.size)}, nil
}

type sectionReader struct{ *io.SectionReader }

func (sectionReader) Close() error { return nil }

const (
	randomBlockSize = 1 << 20
	randomMaskSize  = 1 << 10
)

// randomBlock is the table that all random contents repeat, each time under
// another 64-bit mask.
var randomBlock = sync.OnceValue(func() []byte {
	b := make([]byte, randomBlockSize)
	_, _ = rand.NewChaCha8([32]byte([]byte("reference data of the emulator: "))).Read(b) // never fails
	return b
})

// ReadAt fills p. The section reader bounds the size.
func (c randomContent) ReadAt(p []byte, off int64) (int, error) {
	for n := 0; n < len(p); {
		block, at := off/randomBlockSize, int(off%randomBlockSize)
		k := min(len(p)-n, randomBlockSize-at)
		c.fill(p[n:n+k], uint64(block), at)
		n, off = n+k, off+int64(k)
	}
	return len(p), nil
}

// fill writes the bytes of one block from at on.
func (c randomContent) fill(p []byte, block uint64, at int) {
	var mask [randomMaskSize + 8]byte
	word := mix(c.seed + mix(block))
	for i := 0; i < len(mask); i += 8 {
		binary.LittleEndian.PutUint64(mask[i:], word)
	}
	base := randomBlock()[at:]
	shift := at % 8 // the same for all chunks, whose length is a multiple of 8
	for len(p) > 0 {
		k := min(len(p), randomMaskSize)
		subtle.XORBytes(p[:k], base[:k], mask[shift:])
		p, base = p[k:], base[k:]
	}
}

// mix is the finaliser of splitmix64. Neighbouring inputs have unrelated outputs.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
