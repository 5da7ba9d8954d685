package states_test

import (
	"strings"
	"testing"

	"syncd/internal/e2e"
	"syncd/internal/e2e/crash/states"
	"syncd/internal/emulator"
)

func file(name, text string) emulator.File {
	return emulator.File{Name: name, Content: emulator.Text(text)}
}

// newHost is a host of a provider that tells no sizes: such files come one by one, so that the
// order of the steps, and with it the number of each image, is the same in every run.
func newHost(t *testing.T, manifests ...string) *e2e.Host {
	t.Helper()
	h := e2e.NewHost(t, manifests...)
	h.Provider.AddFault(emulator.Fault{Kind: emulator.KindStatus, Status: 404, Path: "/Metadata/*"})
	h.ConfigureWith("transfers: {files: 1}")
	return h
}

// nextRelease is the sync of a new release over one that is served. Of its two files, one has
// three blocks and the other is served already.
func nextRelease(t *testing.T) *protocol {
	t.Helper()
	h := newHost(t, "m")
	h.Provider.SetManifest("m", "2026.10", file("a", "1"), file("b", "2"))
	h.Sync(0)
	h.Provider.SetManifest("m", "2026.11", file("a", "1"), file("b", strings.Repeat("new", 3000)))
	return &protocol{Host: h, args: []string{"sync", "--json"}}
}

// TestNoCrashOfANextReleaseLosesAnything visits every state of all three kinds of file system.
func TestNoCrashOfANextReleaseLosesAnything(t *testing.T) {
	p := nextRelease(t).record(t)
	seen := p.visitAll(t, 1)
	if n := p.everyImage(states.Posix, 1, map[key]bool{}, func(*states.Image) {}); n != len(seen) {
		t.Errorf("POSIX allows %d states, and all kinds together %d: a kind allows more than POSIX", n, len(seen))
	}
	p.sampleBinary(t, 10)
}
