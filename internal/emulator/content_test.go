package emulator

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"syncd/internal/emulator/testclient"
)

func diskFile(t testing.TB, size int64) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, readAll(t, Random(7, size)), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func readAll(t testing.TB, c Content) []byte {
	t.Helper()
	f, err := c.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func BenchmarkDownload(b *testing.B) {
	const size = 64 << 20
	e := start(b, Config{})
	e.SetManifest("m", "2026.10",
		File{Name: "random", Content: Random(1, size)}, File{Name: "disk", Content: OnDisk(diskFile(b, size))})
	for _, name := range []string{"random", "disk"} {
		b.Run(name, func(b *testing.B) {
			target := fileURL(b, e, "Data/2026.10/"+name)
			c := testclient.New(b)
			b.SetBytes(size)
			buf := make([]byte, 256<<10)
			for b.Loop() {
				resp, err := c.Get(target)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{resp.Body}, buf); err != nil {
					b.Fatal(err)
				}
				resp.Body.Close()
			}
		})
	}
}
