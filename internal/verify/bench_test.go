package verify

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"syncd/internal/manifest"
)

// BenchmarkHasher measures hashing, without disk and network.
func BenchmarkHasher(b *testing.B) {
	data := make([]byte, bufferSize)
	_, _ = rand.Read(data) // never fails
	for _, algorithm := range []manifest.Algorithm{manifest.SHA256, manifest.SHA1, manifest.MD5} {
		b.Run(string(algorithm), func(b *testing.B) {
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
			path := filepath.Join(b.TempDir(), "file")
			if err := os.WriteFile(path, make([]byte, size), 0o600); err != nil {
				b.Fatal(err)
			}
			h, err := HashFile(context.Background(), path, manifest.SHA256)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			b.SetBytes(int64(size))
			for b.Loop() {
				if _, err := File(context.Background(), path, h.Digest()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
