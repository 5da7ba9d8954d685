package emulator

import (
	"io"
	"testing"

	"syncd/internal/emulator/testclient"
)

func BenchmarkDownload(b *testing.B) {
	const size = 64 << 20
	e := start(b, Config{})
	e.SetManifest("m", "2026.10",
		File{Name: "random", Content: Random(1, size)}, File{Name: "disk", Content: OnDisk(testclient.DiskFile(b, size))})
	for _, name := range []string{"random", "disk"} {
		b.Run(name, func(b *testing.B) {
			target := testclient.FileURL(b, e, "Data/2026.10/"+name)
			c := testclient.New(b)
			b.SetBytes(size)
			buf := make([]byte, 256<<10)
			for b.Loop() {
				resp, err := c.Get(target)
				must(b, err)
				if _, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{resp.Body}, buf); err != nil {
					b.Fatal(err)
				}
				resp.Body.Close()
			}
		})
	}
}
