package states_test

import (
	"os"
	"path/filepath"
	"testing"

	"syncd/internal/e2e"
	"syncd/internal/e2e/crash/states"
)

// sampleBinary runs the real program on some images, to show that the judge, who runs its
// packages in this process, sees what a user sees.
func (p *protocol) sampleBinary(t *testing.T, number int) {
	t.Helper()
	random := e2e.NewRandom(t)
	folder := memory(t)
	h, disk := *p.Host, filepath.Join(folder, "disk")
	h.Dir, h.Data = folder, filepath.Join(disk, "data")
	p.configured(folder)
	for range number {
		p.trace.Sample(states.Posix, random.IntN(p.trace.Points()), 1, random, func(image *states.Image) {
			p.Must(image.Write(disk))
			h.Sync(0)
			got, err := states.Describe(disk, h.Data)
			p.Must(err)
			e2e.Same(&h, "data directory after "+image.Number, p.judge.After.Want, got)
			p.Must(os.RemoveAll(disk))
		})
	}
}
