package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
)

// StagedStatus is what `status --json` says of a manifest and what is staged of it.
type StagedStatus struct {
	Name, Release, State, Reason, Error, Explanation string

	Staged      *struct{ Release, Revision, Since string }
	Quarantined *struct {
		Release            string
		Lines, Differences []string
	}
	OpensAt string `json:"opens_at"`
}

// StagedStatus is what `status --json` says of one manifest.
func (h *Host) StagedStatus(name string) StagedStatus {
	h.Helper()
	var status struct{ Manifests []StagedStatus }
	h.Must(json.Unmarshal([]byte(h.Expect(0, "status", "--json").Stdout), &status))
	for _, m := range status.Manifests {
		if m.Name == name {
			return m
		}
	}
	h.Fatalf("no %s in %+v", name, status)
	return StagedStatus{}
}

// NotesWhatItPasses is the script of a gate that passes everything, and notes it in a file.
func NotesWhatItPasses(file string) string {
	return `echo "$SYNCD_MANIFEST $SYNCD_RELEASE-$SYNCD_REVISION" >>"` + file + `"`
}

// WantPassed requires that a gate which notes what it passes has passed all that is served,
// except the first release of a host.
func WantPassed(h *Host, file string) {
	h.Helper()
	passed, err := os.ReadFile(file)
	for _, name := range []string{"m", "n"} {
		text, readErr := os.ReadFile(filepath.Join(h.Data, "current", name+".json"))
		h.Must(readErr)
		var r struct{ Release, Revision string }
		h.Must(json.Unmarshal(text, &r))
		line := name + " " + r.Release + "-" + r.Revision + "\n"
		if r.Release != "2026.10" && !strings.Contains(string(passed), line) {
			h.Errorf("%s is served and did not pass the gate (%v):\n%s", line, err, passed)
		}
	}
}

// WithGate writes a gate that runs a script, which sees the paths of the contract.
func (h *Host) WithGate(script, more string) {
	h.Helper()
	h.Write("gate.sh", "#!/bin/sh\n"+script+"\n", 0o755)
	h.ConfigureWith("gate: {command: [" + h.Path("gate.sh") + "], timeout: 1m" + more + "}")
}
