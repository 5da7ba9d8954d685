package source

import (
	"context"
	"testing"

	"syncd/internal/manifest"
)

func TestACancelledMetadataRequestMayBeRepeatedByOthers(t *testing.T) {
	s := New(Config{Slots: NewSlots()})
	if err := s.slots.Acquire(t.Context(), maxRequests); err != nil { // all requests are under way
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // another file of the manifest has failed
	content := manifest.Digest{Algorithm: manifest.MD5, Sum: [32]byte{1}}
	if err := s.Entry(Question{}).Size(ctx, manifest.File{Expected: content}); err == nil {
		t.Error("no error")
	}
	if !s.sizes.begin(content) {
		t.Error("no other manifest can ask for it")
	}
}
