package emulator

import (
	"fmt"
	"slices"
	"testing"

	"syncd/internal/emulator/testclient"
)

// Requests with equal headers share them in the log. Its readers get copies.
func TestLogKeepsHeadersOfEachRequest(t *testing.T) {
	e := start(t, Config{})
	const kinds = 20 // more than are remembered
	var want, got []string
	for range 2 {
		for i := range kinds {
			testclient.Get(t, e, "/ManifestReleases/m", "", "X-Kind", fmt.Sprint(i))
			want = append(want, fmt.Sprint(i), fmt.Sprint(i))
			testclient.Get(t, e, "/ManifestReleases/m", "", "X-Kind", fmt.Sprint(i))
		}
	}
	requests := e.Requests()
	requests[0].Header.Set("X-Kind", "changed")
	for _, r := range e.Requests() {
		got = append(got, r.Header.Get("X-Kind"))
	}
	if !slices.Equal(got, want) || requests[1].Header.Get("X-Kind") != "0" {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}
