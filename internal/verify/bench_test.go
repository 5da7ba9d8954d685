package verify

import (
	"context"
	"crypto/rand"
	"fmt"
	"testing"

	"syncd/internal/manifest"
)

// BenchmarkHasher measures hashing, without disk and network.
func BenchmarkHasher(b *testing.B) {
	data := make([]byte, bufferSize)
	_, _ = rand.Read(data) // never fails
	for _, algorithm := range []manifest.Algorithm{manifest.SHA256, manifest.SHA1, manifest.MD5} {
		b.Run(algorithm.String(), func(b *testing.B) {
			h := NewHasher(algorithm)
			b.ReportAllocs()
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				_, _ = h.Write(data)
			}
		})
	}
}

// BenchmarkFile measures `verify` and resumed downloads: small files show the cost of
// a file, the large one the cost of its bytes.
func BenchmarkFile(b *testing.B) {
	for _, size := range []int{4 << 10, 64 << 20} {
		b.Run(fmt.Sprintf("%d KiB", size>>10), func(b *testing.B) {
			dir := folderWith(b, string(make([]byte, size)))
			h, err := HashFile(context.Background(), dir, "file", manifest.SHA256)
			must(b, err)
			b.ReportAllocs()
			b.SetBytes(int64(size))
			for b.Loop() {
				if _, err := File(context.Background(), dir, "file", h.Digest()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
