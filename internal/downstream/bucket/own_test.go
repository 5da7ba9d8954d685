package bucket

import (
	"strings"
	"syncd/internal/manifest"
	"syncd/internal/mirror/record"
	"testing"
)

// Escapes can make a text six times as long.
func TestARecordThatWouldBeTooLongHasNoMetadata(t *testing.T) {
	long := record.Record{Files: make([]record.File, 5000)}
	for text, want := range map[string]bool{strings.Repeat("x", 500): true, strings.Repeat("<", 500): false} {
		for i := range long.Files {
			long.Files[i].Metadata = &manifest.Metadata{Members: []manifest.Member{{Name: "BuildDate", Value: text}}}
		}
		r, err := measured(long)
		if isTold := r.Files[0].Metadata != nil; err != nil || isTold != want || isTold == r.IsBare || r.Size > record.Limit(5000) {
			t.Errorf("%.1s: told %t, %d bytes, %v", text, isTold, r.Size, err)
		}
	}
}
