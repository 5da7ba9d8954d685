//go:build linux

package httpserver

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// A file is in the page cache, on the disk only, or in parts of both.
func TestAFileArrivesWholeFromCacheAndDisk(t *testing.T) {
	const size, skipped = 9<<20 + 7, 5
	content := make([]byte, size)
	rand.NewChaCha8([32]byte{}).Read(content)
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name          string
		dropped, from int64 // bytes that leave the cache
		shorter       int64
	}{{name: "cached"}, {name: "on the disk", dropped: size}, {name: "its end on the disk", from: 3 << 20, dropped: size}, {name: "shorter than told", shorter: 1 << 20}} {
		t.Run(row.name, func(t *testing.T) {
			f, err := os.OpenFile(path, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if err := f.Sync(); err != nil {
				t.Fatal(err)
			}
			if row.dropped > 0 {
				_ = unix.Fadvise(int(f.Fd()), row.from, row.dropped, unix.FADV_DONTNEED) // a file system in memory keeps it
			}
			if err := f.Truncate(size - row.shorter); err != nil {
				t.Fatal(err)
			}
			if _, err := f.Seek(skipped, io.SeekStart); err != nil {
				t.Fatal(err)
			}
			client, server := pairOfTCP(t)
			got := make(chan []byte, 1)
			go func() {
				all, _ := io.ReadAll(client)
				got <- all
			}()
			n, err := (&connection{Conn: server}).ReadFrom(io.LimitReader(f, size-skipped))
			server.Close()
			if want := content[skipped : size-row.shorter]; err != nil || n != int64(len(want)) || !bytes.Equal(<-got, want) {
				t.Errorf("sent %d of %d bytes, or other ones: %v", n, len(want), err)
			}
		})
	}
}

func pairOfTCP(t *testing.T) (client, server net.Conn) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if client, err = net.Dial("tcp", listener.Addr().String()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	if server, err = listener.Accept(); err != nil {
		t.Fatal(err)
	}
	return client, server
}
