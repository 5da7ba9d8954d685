package syncer

import (
	"context"
	"testing"

	"golang.org/x/sync/semaphore"

	"syncd/internal/manifest"
)

func TestACancelledMetadataRequestMayBeRepeatedByOthers(t *testing.T) {
	q := &questions{slots: semaphore.NewWeighted(maxRequests)}
	if err := q.slots.Acquire(t.Context(), maxRequests); err != nil { // all requests are under way
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // another file of the manifest has failed
	content := manifest.Digest{Algorithm: manifest.MD5, Sum: [32]byte{1}}
	if err := q.size(ctx, &job{}, manifest.File{Expected: content}); err == nil {
		t.Error("no error")
	}
	if !q.sizes.claim(content) {
		t.Error("no other manifest can ask for it")
	}
}
