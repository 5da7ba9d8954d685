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

// BenchmarkHasher is the part of a download that no disk and no network hides.
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

// BenchmarkFile is what verify and the resumption of a download do: small files
// show what each of them costs, the large one what its bytes cost.
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
