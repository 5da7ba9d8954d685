package golive

import (
	"errors"
	"testing"
)

// The answer of a daemon is one line, so that a line feed between the reasons would be shown
// as an escape.
func TestReasonsOfSeveralManifestsAreOneLine(t *testing.T) {
	first, second := errors.New("no space"), errors.New("expired")
	err := reasons{"b": second, "a": first}.err()
	if got, want := err.Error(), "a: no space; b: expired"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if !errors.Is(err, first) || !errors.Is(err, second) {
		t.Error("a reason is lost")
	}
}
