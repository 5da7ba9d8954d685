package states_test

import (
	"os"
	"path/filepath"
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
func newHost(t *testing.T, more string, manifests ...string) *protocol {
	t.Helper()
	h := e2e.NewHost(t, manifests...)
	h.Provider.AddFault(emulator.Fault{Kind: emulator.KindStatus, Status: 404, Path: "/Metadata/*"})
	h.ConfigureWith("transfers: {files: 1}\n" + more)
	h.Provider.SetManifest("m", "2026.10", file("a", "1"), file("b", "2"))
	return on(h)
}

// updated returns a host that serves a release, with the next one at the provider. Of its two
// files, one has three blocks and the other is served already.
func updated(t *testing.T, more string) *protocol {
	t.Helper()
	p := newHost(t, more, "m")
	p.Sync(0)
	p.Provider.SetManifest("m", "2026.11", file("a", "1"), file("b", strings.Repeat("new", 3000)))
	return p
}

// TestNoCrashOfANextReleaseLosesAnything visits every state of all three kinds of file system.
func TestNoCrashOfANextReleaseLosesAnything(t *testing.T) {
	p := updated(t, "").record(t)
	seen := p.visitAll(t, 1)
	if n, _ := p.everyImage(states.Posix, 1, map[key]bool{}, func(*states.Image) {}); n != len(seen) && os.Getenv(stateVariable) == "" {
		t.Errorf("POSIX allows %d states, and all kinds together %d: a kind allows more than POSIX", n, len(seen))
	}
	p.sampleBinary(t, 10)
}

// protocols are other pieces of work, by what they do.
var protocols = map[string]func(*testing.T) *protocol{
	"first sync": func(t *testing.T) *protocol {
		p := newHost(t, "", "m")
		p.judge.MayLoseState = true
		return p
	},
	"two manifests and a view": func(t *testing.T) *protocol {
		p := newHost(t, "views: [{name: v, layout: flat}]", "m", "n")
		p.Provider.SetManifest("n", "2026.10", file("c", "3"))
		p.Sync(0)
		p.Provider.SetManifest("m", "2026.11", file("a", "1"), file("b", "new"))
		p.Provider.SetManifest("n", "2026.11", file("c", "also new"))
		return p
	},
	"prune":    func(t *testing.T) *protocol { return updated(t, "retain: 0\nretain_for: 0s") },
	"staging":  func(t *testing.T) *protocol { return updated(t, "activate: manual\ngate: {command: ['true']}") },
	"rollback": func(t *testing.T) *protocol { return updated(t, "").after("sync").does("rollback", "--json") },
	"pin":      func(t *testing.T) *protocol { return updated(t, "").after("sync").does("pin", "m", "2026.10") },
	"hold":     func(t *testing.T) *protocol { return updated(t, "").does("hold", "m", "--for", "24h") },
	"skip":     func(t *testing.T) *protocol { return updated(t, "").does("skip", "m", "2026.11") },
	"destruction": func(t *testing.T) *protocol {
		return updated(t, "").after("sync").does("destroy", "m", "2026.10", "--yes")
	},
	"activation with a gate": func(t *testing.T) *protocol {
		return updated(t, "activate: manual\ngate: {command: ['true']}").after("sync").does("activate", "--json")
	},
	"state file replaced": func(t *testing.T) *protocol {
		p := updated(t, "")
		p.judge.MayLoseState = true
		p.Must(os.WriteFile(filepath.Join(p.Data, "state", "syncd.db"), []byte("damaged"), 0o600))
		return p
	},
}

// after runs a command before the work.
func (p *protocol) after(args ...string) *protocol {
	p.Helper()
	p.Expect(0, args...)
	return p
}

// TestNoCrashLosesAnything visits every state of other work, or a part of them.
func TestNoCrashLosesAnything(t *testing.T) {
	for name, before := range protocols {
		t.Run(name, func(t *testing.T) {
			p := before(t).record(t)
			p.limit = e2e.Times(100, 1<<20)
			p.visitAll(t, e2e.Times(20, 1))
		})
	}
}
