// Package internal_test holds the project's shape.
package internal_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// rows are the packages from the top to the bottom. A package imports only
// those of rows below its own, and of its own row only what siblings says.
// Everything below config takes plain values.
var rows = [][]string{
	{"cmd/syncd"},
	{"cmd/syncd/call", "cmd/syncd/demo"},
	{"cmd/syncd/cli"},
	{"internal/daemon", "internal/downstream/serve", "internal/doctor"},
	{"internal/ui/web"},
	{"internal/engine", "internal/config/migration"},
	{"internal/ui/control", "internal/config", "internal/ui/terminal"},
	{"internal/syncer", "internal/get", "internal/hooks", "internal/downstream/publisher"},
	{"internal/golive"},
	{"internal/syncer/download", "internal/syncer/source", "internal/syncer/adopt", "internal/golive/room", "internal/golive/gate", "internal/engine/operation"},
	{"internal/downstream/rings"},
	{"internal/mirror/inventory", "internal/report/status", "internal/mirror/readers", "internal/mirror/audit", "internal/hooks/outbox", "internal/mirror/scrub", "internal/downstream/catalog", "internal/doctor/alert"},
	{"internal/mirror/staging"},
	{"internal/report/progress", "internal/fetcher", "internal/downstream/follower", "internal/mirror", "internal/mirror/export"},
	{"internal/report", "internal/clients", "internal/verify", "internal/store", "internal/disk/space", "internal/disk/datadir", "internal/syncer/lockfile", "internal/host/rate", "internal/downstream/bucket", "internal/config/document"},
	{"internal/mirror/record"},
	{"internal/manifest/layout"},
	{"internal/httpserver", "internal/manifest", "internal/manifest/forecast", "internal/disk/durable", "internal/disk/flock", "internal/metrics", "internal/clients/origin", "internal/manifest/refusal", "internal/report/request", "internal/host/clock", "cmd/syncd/gctune", "internal/host/claims", "internal/daemon/signals", "internal/hooks/event", "internal/host/command", "internal/host/account", "internal/host/unitfile"},
	{"internal/disk/fsops", "internal/disk/directio"},
	{"deploy/prometheus"},
	{emulator},
	{emulator + "/releases", emulator + "/contribution", emulator + "/listing", emulator + "/property",
		emulator + "/autocomplete", emulator + "/reversegeo", emulator + "/testclient"},
	{emulator + "/service", emulator + "/catalogue"},
	{emulator + "/wire", emulator + "/gazetteer"},
}

// siblings are the imports within a row.
var siblings = map[[2]string]bool{
	{"internal/clients", "internal/clients/transport"}:           true,
	{"internal/clients", "internal/clients/service"}:             true,
	{"internal/clients", "internal/clients/wire"}:                true,
	{"internal/clients", "internal/clients/certificate"}:         true,
	{"internal/downstream/bucket", "internal/downstream/bucket"}: true, // by its tests
	{"internal/manifest", "internal/manifest/refusal"}:           true,
	{"internal/manifest/forecast", "internal/manifest"}:          true,
}

// emulator plays the provider. Only commands and tests import it, and only it
// imports the packages below it.
const emulator = "internal/emulator"

const module = "syncd/"

func TestImportsOnlyGoDown(t *testing.T) {
	for pkg, imports := range load(t) {
		row, family := place(pkg)
		if row < 0 {
			t.Errorf("%s is in no row: add it to rows and to ARCHITECTURE.md", pkg)
		}
		for _, imported := range imports {
			below, _ := place(imported)
			switch {
			case isEmulator(imported) && !isEmulator(pkg) && (imported != emulator || !strings.HasPrefix(pkg, "cmd/syncd")):
				t.Errorf("%s imports %s, which belongs to the emulator", pkg, imported)
			case below < row, below == row && !siblings[[2]string{family, imported}]:
				t.Errorf("%s imports %s, which is not in a lower row", pkg, imported)
			}
		}
	}
}

// TestWingsHaveNoCircle looks at the folders below internal as wholes: a wing that
// imports another must not be imported by it, not even through others.
func TestWingsHaveNoCircle(t *testing.T) {
	imports := map[string][]string{}
	for pkg, imported := range load(t) {
		for _, i := range imported {
			if from, to := wing(pkg), wing(i); from != to && from != "" {
				imports[from] = append(imports[from], to)
			}
		}
	}
	for start := range imports {
		seen := map[string]bool{}
		for next := slices.Clone(imports[start]); len(next) > 0; {
			at := next[0]
			next = next[1:]
			if at == start {
				t.Errorf("wing %s imports itself through others", start)
				break
			}
			if !seen[at] {
				seen[at] = true
				next = append(next, imports[at]...)
			}
		}
	}
}

// wing is the folder directly below internal that a package belongs to; "" for none.
func wing(pkg string) string {
	below, found := strings.CutPrefix(pkg, "internal/")
	if !found {
		return ""
	}
	name, _, _ := strings.Cut(below, "/")
	return name
}

func isEmulator(pkg string) bool {
	return pkg == emulator || strings.HasPrefix(pkg, emulator+"/")
}

// place finds a package's row and its entry there, the longest that fits; -1 for
// none.
func place(pkg string) (row int, family string) {
	row = -1
	for i, packages := range rows {
		for _, p := range packages {
			if (pkg == p || strings.HasPrefix(pkg, p+"/")) && len(p) > len(family) {
				row, family = i, p
			}
		}
	}
	return row, family
}

// load lists the packages below cmd and internal with what they import of this module.
func load(t *testing.T) map[string][]string {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", "../cmd/...", "../internal/...").Output()
	if err != nil {
		var failed *exec.ExitError
		if errors.As(err, &failed) {
			t.Fatalf("go list: %v: %s", err, failed.Stderr)
		}
		t.Fatal(err)
	}
	all := map[string][]string{}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var pkg struct {
			ImportPath string
			Imports    []string
		}
		if err := decoder.Decode(&pkg); err == io.EOF {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimPrefix(pkg.ImportPath, module)
		if name == "internal" {
			continue // this test
		}
		all[name] = nil
		for _, imported := range pkg.Imports {
			if local, ours := strings.CutPrefix(imported, module); ours {
				all[name] = append(all[name], local)
			}
		}
	}
}
