package syncer

import (
	"context"
	"testing"

	"syncd/internal/manifest"
	"syncd/internal/report"
)

func TestASizeThatWasNotAskedForAfterAllIsLeftToOthers(t *testing.T) {
	r := &run{Syncer: New(Config{}, &report.Progress{})}
	if err := r.lookups.Acquire(t.Context(), lookups); err != nil { // all requests are under way
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // another file of the manifest has failed
	content := manifest.Digest{Algorithm: manifest.MD5, Sum: [32]byte{1}}
	if err := r.askSize(ctx, &job{}, manifest.File{Expected: content}); err == nil {
		t.Error("no error")
	}
	if !r.sizes.claim(content) {
		t.Error("no other manifest can ask for it")
	}
}
