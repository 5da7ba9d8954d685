// Package internal_test holds the project's shape.
package internal_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// floors are the wings from the top to the bottom: the folders below internal, and the
// program. A wing imports only wings of floors below its own. ARCHITECTURE.md has the same
// list as a picture.
var floors = [][]string{
	{"e2e"},
	{"cmd/syncd"},
	{"doctor"},
	{"daemon", "ui"},
	{"engine"},
	{"config", "syncer"},
	{"downstream", "golive"},
	{"get", "hooks", "report"},
	{"fetcher", "mirror"},
	{"clients", "httpserver", "store", "verify"},
	{"changes", "host"},
	{"disk"},
	{"manifest", "metrics"},
	{"emulator"},
}

// rooms are the packages of each wing that has several, from the top to the bottom. "." is
// the package of the wing's own folder. A room imports only rooms of its wing that stand
// further to the right. Folders below a room's folder belong to the room.
var rooms = map[string][]string{
	"cmd/syncd":  {".", "browse bundle call changes complete demo destroy estimate setup trust", "cli gctune"},
	"changes":    {".", "spill"},
	"clients":    {"autocomplete batch contribution listing property releases reversegeo", "service", "transport", "certificate origin signature wire"},
	"config":     {"migration", ".", "place ring", "schedule", "value", "document"},
	"daemon":     {".", "signals"},
	"disk":       {"datadir", "durable flock space", "directio fsops"},
	"doctor":     {".", "alert"},
	"e2e":        {"commands crash daemon doctor downstream files golive sync", "."},
	"downstream": {"bundle follower publisher serve", "believer generations", "catalog keyfile objectstore patches relay", "pack", "bucket patch rings trust"},
	"emulator":   {".", "autocomplete contribution listing property reversegeo testclient", "releases service", "catalogue gazetteer wire"},
	"engine":     {".", "bundles offer", "operation orders secrets silence sources upload"},
	"golive":     {"destroyer prover", "rollback", ".", "exporter gate probe room rows"},
	"httpserver": {".", "accounts"},
	"hooks":      {". outbox", "event"},
	"host":       {"command rate", "account claims clock priority unitfile"},
	"manifest":   {"destruction expiry forecast layout", ".", "refusal"},
	"metrics":    {". tracing"},
	"mirror":     {"destroy revisions", "audit inventory readers staging", ".", "export lifespan scrub", "permissions record"},
	"report":     {"progress status", ".", "request"},
	"syncer":     {".", "repair source", "adopt download lockfile"},
	"ui":         {"control terminal web"},
}

const (
	// emulator plays the provider. Only cmd/syncd, e2e and tests import it, and it shares
	// no code with the program.
	emulator = "emulator"
	// alertRules are shipped with the program, and judged by the doctor.
	alertRules = "deploy/prometheus"
)

func TestImportsOnlyGoDown(t *testing.T) {
	for pkg, imports := range load(t) {
		floor, wing, room := place(t, pkg)
		for _, imported := range imports {
			if imported == alertRules && wing == "doctor" {
				continue
			}
			below, otherWing, otherRoom := place(t, imported)
			switch {
			case wing == otherWing:
				if otherRoom <= room && name(pkg) != name(imported) {
					t.Errorf("%s imports %s, which is not further down in its wing: see rooms", pkg, imported)
				}
			case wing == emulator:
				t.Errorf("%s imports %s: the emulator shares no code with the program", pkg, imported)
			case otherWing == emulator && (wing != "cmd/syncd" && wing != "e2e" || imported != "internal/emulator"):
				t.Errorf("%s imports %s, which belongs to the emulator", pkg, imported)
			case below <= floor:
				t.Errorf("%s imports %s, whose wing is not on a lower floor: see floors", pkg, imported)
			}
		}
	}
}

// TestTheHouseStaysSmall keeps the top of internal readable at one look.
func TestTheHouseStaysSmall(t *testing.T) {
	wings, packages := map[string]bool{}, load(t)
	for pkg := range packages {
		inside, found := strings.CutPrefix(pkg, "internal/")
		if !found {
			continue
		}
		levels := strings.Split(inside, "/")
		wings[levels[0]] = true
		if len(levels) > 3 {
			t.Errorf("%s lies %d levels below internal, want at most 3", pkg, len(levels))
		}
	}
	if len(wings) > 24 {
		t.Errorf("internal has %d folders, want at most 24: a new package belongs into a wing", len(wings))
	}
	for _, wing := range slices.Concat(floors...) {
		if !wings[wing] && wing != "cmd/syncd" {
			t.Errorf("floors has the wing %s, which does not exist", wing)
		}
	}
	for wing, names := range rooms {
		for name := range strings.FieldsSeq(strings.Join(names, " ")) {
			pkg := path.Join("internal", wing, name)
			if _, found := packages[pkg]; !found && wing != "cmd/syncd" {
				t.Errorf("rooms has %s, which does not exist", pkg)
			}
		}
	}
}

// TestThePictureShowsTheFloors compares the picture in ARCHITECTURE.md: a paragraph for
// each floor, a line for each wing.
func TestThePictureShowsTheFloors(t *testing.T) {
	text, err := os.ReadFile("../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## Wings\n")
	_, picture, _ := strings.Cut(section, "\n```\n")
	picture, _, _ = strings.Cut(picture, "\n```\n")
	var shown [][]string
	for floor := range strings.SplitSeq(picture, "\n\n") {
		var wings []string
		for line := range strings.Lines(floor) {
			wing, _, _ := strings.Cut(line, " ")
			wings = append(wings, wing)
		}
		shown = append(shown, wings)
	}
	if !slices.EqualFunc(shown, floors, slices.Equal) {
		t.Errorf("ARCHITECTURE.md shows the floors\n%v, want\n%v", shown, floors)
	}
}

// TestTheFunctionsToStartReadingAtExist checks the list at the end of README.md.
func TestTheFunctionsToStartReadingAtExist(t *testing.T) {
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := regexp.MustCompile("(?m)^[0-9]\\. `([A-Za-z.]+)` in \\[([^]]+)\\]").FindAllStringSubmatch(string(text), -1)
	if len(listed) != 5 {
		t.Errorf("README.md lists %d functions, want 5", len(listed))
	}
	for _, function := range listed {
		receiver, method, isMethod := strings.Cut(function[1], ".")
		declaration := "func " + receiver + "("
		if isMethod {
			declaration = " *" + receiver + ") " + method + "("
		}
		source, err := os.ReadFile(path.Join("..", function[2]))
		if err != nil || !strings.Contains(string(source), declaration) {
			t.Errorf("README.md: %s has no %s, %v", function[2], function[1], err)
		}
	}
}

// place returns where a package lies: the floor of its wing, the wing, and its room there.
func place(t *testing.T, pkg string) (floor int, wing string, room int) {
	t.Helper()
	inside := strings.TrimPrefix(pkg, "internal/")
	for floor, wings := range floors {
		for _, wing := range wings {
			if inside == wing || strings.HasPrefix(inside, wing+"/") {
				return floor, wing, roomOf(t, wing, strings.TrimPrefix(strings.TrimPrefix(inside, wing), "/"))
			}
		}
	}
	t.Fatalf("%s is in no wing: add it to one, or the wing to floors and to the picture in ARCHITECTURE.md", pkg)
	return 0, "", 0
}

// roomOf finds the room of a path below a wing.
func roomOf(t *testing.T, wing, folder string) int {
	t.Helper()
	folder = cmp.Or(folder, ".")
	for room, names := range rooms[wing] {
		for _, name := range strings.Fields(names) {
			if folder == name || strings.HasPrefix(folder, name+"/") {
				return room
			}
		}
	}
	if rooms[wing] != nil || folder != "." {
		t.Fatalf("internal/%s has no room for %s: add it to rooms, right of all that import it", wing, folder)
	}
	return 0
}

// name is the wing and the room's folder of a package: packages below a room's folder
// belong to it.
func name(pkg string) string {
	parts := strings.SplitN(pkg, "/", 4)
	return strings.Join(parts[:min(len(parts), 3)], "/")
}

const module = "syncd/"

// load lists the packages below cmd and internal with what they import of this module.
func load(t *testing.T) map[string][]string {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", "../cmd/...", "../internal/...").Output()
	if err != nil {
		if failed, ok := errors.AsType[*exec.ExitError](err); ok {
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
