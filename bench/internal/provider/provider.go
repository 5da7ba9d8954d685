// Package provider serves a release to all contenders alike: the emulator over plain
// HTTP, in this process, and nginx over TLS with HTTP/2.
package provider

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"

	"syncd/bench/internal/link"
)

// Sizes in bytes.
const (
	KiB = int64(1) << 10
	MiB = int64(1) << 20
	GiB = int64(1) << 30
)

// The names that every provider serves.
const (
	CustomerID = "BENCH-ID"
	Manifest   = "bench"
	Release    = "2026.10"
)

// File is one file of the release.
type File struct {
	Name string
	Size int64
}

// Provider is a running release service.
type Provider interface {
	URL() string
	CAFile() string // certificate to trust; "" over plain HTTP
	Files() []File
	// Forget drops the log of requests.
	Forget() error
	// Sent returns how many bytes of files were sent since Forget. No client may be
	// connected any more.
	Sent(ctx context.Context) (int64, error)
	Close() error
}

// Address returns the address of a file below an endpoint such as Download.
func Address(p Provider, endpoint string, f File) string {
	return fmt.Sprintf("%s/%s/Data/%s/%s?id=%s", p.URL(), endpoint, Release, f.Name, CustomerID)
}

// Start serves files of these sizes over a link, from a folder for their contents.
func Start(ctx context.Context, dir string, sizes []int64, over link.Link) (Provider, error) {
	if over == (link.Link{}) {
		return Emulate(ctx, dir, sizes)
	}
	return startNginx(ctx, filepath.Join(dir, "nginx"), sizes, over)
}

// NameOf is the name of a file by its number.
func NameOf(number int) string { return fmt.Sprintf("file%06d.dat", number) }

// Repeat returns n equal sizes.
func Repeat(n, size int64) []int64 { return slices.Repeat([]int64{size}, int(n)) }

// Mixed shuffles the sizes, always in the same way. Real lists are not sorted by size,
// and a tool that fetches files in the order of the list should not suffer for it.
func Mixed(sizes []int64) []int64 {
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(sizes), func(i, j int) { sizes[i], sizes[j] = sizes[j], sizes[i] })
	return sizes
}

// Spread returns n sizes from smallest to largest, growing by powers of two.
func Spread(n int, smallest, largest int64) []int64 {
	sizes := make([]int64, n)
	doublings := 0
	for s := smallest; s < largest; s *= 2 {
		doublings++
	}
	for i := range sizes {
		sizes[i] = smallest << (i * doublings / max(1, n-1))
	}
	return sizes
}
