package e2e

import (
	"io"
	"net/http"
	"net/url"
	"sync"

	"syncd/internal/emulator"
)

// gated is a content whose readers wait while a test has it locked.
type gated struct {
	emulator.Content
	gate sync.RWMutex
}

// GatedFile publishes manifest m with one file whose download hangs until the
// test calls open, and with others.
func (h *Host) GatedFile(size int64, others ...emulator.File) (open func()) {
	h.Helper()
	content := &gated{Content: emulator.Random(7, size)}
	h.Provider.SetManifest("m", "2026.10", append(others, emulator.File{Name: "file.dat", Content: content})...)
	for _, endpoint := range []string{"Metadata", "SHA256"} { // from now on the emulator knows its digests
		res, err := http.Get(h.Provider.URL() + "/" + endpoint + "/Data/2026.10/file.dat?id=" + url.QueryEscape(CustomerID))
		h.Must(err)
		res.Body.Close()
		Same(h, endpoint, 200, res.StatusCode)
	}
	h.Expect(0, "get", "Data/2026.10/file.dat") // and its ETag
	h.Provider.ResetRequests()
	content.gate.Lock()
	open = sync.OnceFunc(content.gate.Unlock)
	h.Cleanup(open)
	return open
}

func (c *gated) Open() (io.ReadSeekCloser, error) {
	r, err := c.Content.Open()
	return &gatedReader{r, c}, err
}

type gatedReader struct {
	io.ReadSeekCloser
	content *gated
}

func (r *gatedReader) Read(p []byte) (int, error) {
	r.content.gate.RLock()
	defer r.content.gate.RUnlock()
	return r.ReadSeekCloser.Read(p)
}
