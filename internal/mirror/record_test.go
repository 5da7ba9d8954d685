package mirror

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"
)

func TestAServedRecordIsReadAgainOnlyWhenItsFileChanged(t *testing.T) {
	m := newMirror(t)
	mustPublish(t, m, recordOf(t, m, "a", "2026.10", files{"x": "1"}))
	path := m.path("generations", generationName(1), "a"+recordSuffix)
	info, err := os.Stat(path)
	must(t, err)
	good, err := os.ReadFile(path)
	must(t, err)
	overwrite(t, path, strings.Repeat("x", len(good)))
	must(t, os.Chtimes(path, info.ModTime(), info.ModTime()))
	if _, err := m.Generations.read(1); err != nil {
		t.Errorf("it was read: %v", err)
	}
	must(t, os.Chtimes(path, time.Time{}, info.ModTime().Add(time.Second)))
	if _, err := m.Generations.read(1); !errors.Is(err, errDamaged) {
		t.Errorf("damage is not seen: %v", err)
	}
}
