package files_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"syncd/internal/e2e"
	"syncd/internal/emulator"
)

// mappedHost serves manifest m with the files that the maps in internal/manifest/layout/testdata
// are for, in a view by the map file m.map.
func mappedHost(t *testing.T) *e2e.Host {
	t.Helper()
	h := e2e.NewHost(t, "m")
	h.ConfigureWith("views: [{name: ref, layout: map, map_files: {m: m.map}}]")
	h.Provider.SetManifest("m", "2026.10",
		emulator.File{Name: "mdAddr.dat", Content: emulator.Text("data")},
		emulator.File{Class: emulator.ClassLibrary, OS: "LINUX", Compiler: "GCC48", Architecture: "64BIT", Name: "libmdAddr.so", Content: emulator.Text("so")},
		emulator.File{Class: emulator.ClassInterface, OS: "ANY", Language: "JAVA", Architecture: "ANY", Name: "mdAddr.jar", Content: emulator.Text("jar")})
	return h
}

func TestEveryFormOfAMapFileIsServedOrRefusedByName(t *testing.T) {
	t.Parallel()
	maps, err := filepath.Glob("../../../internal/manifest/layout/testdata/maps/*.map")
	if err != nil || len(maps) < 50 {
		t.Fatalf("%d maps, %v", len(maps), err)
	}
	byMap := []string{"dq_addr_bins/interfaces/java/mdAddr.jar", "dq_addr_bins/linux/gcc48/64bit/libmdAddr.so", "dq_addr_data/data/mdAddr.dat"}
	byProvider := []string{"m/data/mdAddr.dat", "m/interfaces/java/mdAddr.jar", "m/linux/gcc48/64bit/libmdAddr.so"}
	h := mappedHost(t)
	h.Write("m.map", "", 0o644)
	h.Sync(0)
	refused := 0
	for _, path := range maps {
		text, err := os.ReadFile(path)
		h.Must(err)
		before := paths(h)
		h.Write("m.map", string(text), 0o644)
		if check := h.Syncd("config", "check"); check.Code != 0 {
			refused++
			e2e.Same(h, path+": exit code of config check", 2, check.Code)
			h.Contains(path, check.Stderr, "views[0].map_files", "line ")
			if r := h.Syncd("sync"); r.Code == 0 || !strings.Contains(r.Stderr, "line ") {
				t.Errorf("%s: the sync exits %d and prints %s", path, r.Code, r.Stderr)
			}
			e2e.Same(h, path, before, paths(h))
			continue
		}
		want := byMap
		if !strings.Contains(string(text), "mdAddr.jar") {
			want = byProvider
		}
		h.Sync(0)
		e2e.Same(h, path, want, paths(h))
		h.Write("m.map", "mdAddr.dat|DATA|ANY|ANY|ANY|before.dat\n", 0o644)
		h.Sync(0)
	}
	if refused < 30 || refused > len(maps)-10 {
		t.Errorf("%d of %d maps are refused", refused, len(maps))
	}
	h.Expect(0, "verify")
}

func TestFilesThatAMapLacksLieAsByProviderWithAWarning(t *testing.T) {
	t.Parallel()
	h := mappedHost(t)
	h.Write("m.map", "mdAddr.dat|DATA|ANY|ANY|ANY|top.dat\nabsent.dat|DATA|ANY|ANY|ANY|absent.dat", 0o644)
	h.Contains("sync", h.Expect(0, "sync").Stderr, "no map places some files of the view", `"files":2`)
	e2e.Same(h, "paths", []string{"m/interfaces/java/mdAddr.jar", "m/linux/gcc48/64bit/libmdAddr.so", "top.dat"}, paths(h))
}

func TestMapsThatMakeFilesClashAreRefusedBeforeAnyDownload(t *testing.T) {
	t.Parallel()
	const library = "libmdAddr.so|BINARY|LINUX|GCC48|64BIT|"
	for name, row := range map[string]struct{ lines, first, second string }{
		"one path":            {"mdAddr.dat|DATA|ANY|ANY|ANY|x\n" + library + "x", "mdAddr.dat", "libmdAddr.so"},
		"another case":        {"mdAddr.dat|DATA|ANY|ANY|ANY|lib/X\n" + library + "LIB/x", "mdAddr.dat", "libmdAddr.so"},
		"inside another file": {"mdAddr.dat|DATA|ANY|ANY|ANY|lib\n" + library + "lib/x", "mdAddr.dat", "libmdAddr.so"},
		"an unmapped file":    {library + "m/data/mdAddr.dat", "mdAddr.dat", "libmdAddr.so"},
		"a hash file":         {"mdAddr.dat|DATA|ANY|ANY|ANY|x\n" + library + "x.hash", "mdAddr.dat", "libmdAddr.so"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := mappedHost(t)
			h.ConfigureWith(strings.Replace(h.Settings.More, "layout: map", "layout: map, hash_files: true", 1))
			h.Write("m.map", row.lines+"\n", 0o644)
			out := h.Sync(1)
			e2e.Same(h, "reason", "path_clash", out.Manifests[0].Reason)
			h.Contains("error", out.Manifests[0].Error, row.first, row.second)
			h.WantDownloads()
			e2e.Same(h, "current", "", h.Current())
		})
	}
}
