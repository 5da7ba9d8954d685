package layout

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"syncd/internal/manifest"
)

// references are those of the manifests that the maps in testdata are for.
var references = []manifest.Reference{
	manifest.Parts{Class: manifest.Data, Release: "2026.10", Name: "mdAddr.dat"}.Reference(),
	manifest.Parts{Class: manifest.Library, OS: "LINUX", Compiler: "GCC48", Architecture: "64BIT", Release: "2026.10", Name: "libmdAddr.so"}.Reference(),
	manifest.Parts{Class: manifest.Interface, OS: "ANY", Language: "JAVA", Architecture: "ANY", Release: "2026.08", Name: "mdAddr.jar"}.Reference(),
}

// places are where the maps in testdata put files.
var places = []string{
	"dq_addr_data/data/mdAddr.dat", "dq_addr_bins/linux/gcc48/64bit/libmdAddr.so", "dq_addr_bins/interfaces/java/mdAddr.jar",
}

// refused is the error of each map in testdata that ParseMap refuses.
var refused = map[string]string{
	"path_parent_folder":         `line 4: "x.dat": the path "../x": path segment ".."`,
	"path_parent_in_the_middle":  `line 4: "x.dat": the path "data/../../x": path segment ".."`,
	"path_parent_at_the_end":     `line 4: "x.dat": the path "data/..": path segment ".."`,
	"path_this_folder":           `line 4: "x.dat": the path "./x": path segment "."`,
	"path_absolute":              `line 4: "x.dat": the path "/etc/passwd" is absolute: write it relative to the target folder`,
	"path_drive":                 `line 4: "x.dat": the path "C:/data/x" is absolute: write it relative to the target folder`,
	"path_drive_and_backslashes": `line 4: "x.dat": the path "C:\\data\\x" is absolute: write it relative to the target folder`,
	"path_drive_without_slash":   `line 4: "x.dat": the path "c:x" is absolute: write it relative to the target folder`,
	"path_backslashes":           `line 4: "x.dat": the path "data\\x": slash or backslash in path segment "data\\x"`,
	"path_share":                 `line 4: "x.dat": the path "\\\\server\\share\\x": slash or backslash in path segment "\\\\server\\share\\x"`,
	"path_backslash_parent":      `line 4: "x.dat": the path "..\\x": slash or backslash in path segment "..\\x"`,
	"path_control_character":     `line 4: "x.dat": the path "data/a\x1b[2Jx": control character in path segment "a\x1b[2Jx"`,
	"path_nul":                   `line 4: "x.dat": the path "data/a\x00x": control character in path segment "a\x00x"`,
	"path_tab":                   `line 4: "x.dat": the path "data/a\tx": control character in path segment "a\tx"`,
	"path_carriage_return":       `line 4: "x.dat": the path "data/a\rx": control character in path segment "a\rx"`,
	"path_delete":                `line 4: "x.dat": the path "data/a\x7f": control character in path segment "a\x7f"`,
	"path_c1_control":            `line 4: "x.dat": the path "data/a\u0085": control character in path segment "a\u0085"`,
	"path_invalid_utf8":          "line 4: is not UTF-8 text: save the file as UTF-8",
	"path_overlong_utf8":         "line 4: is not UTF-8 text: save the file as UTF-8",
	"path_empty_path":            `line 4: "x.dat": the path is empty`,
	"path_empty_segment":         `line 4: "x.dat": the path "data//x": empty path segment`,
	"path_slash_at_the_end":      `line 4: "x.dat": the path "data/": empty path segment`,
	"path_long_segment":          `line 4: "x.dat": the path "data/` + strings.Repeat("n", 59) + `": path segment of 256 bytes, at most 255 are allowed: "` + strings.Repeat("n", 32) + `"…`,
	"path_long_path":             `line 4: "x.dat": the path has 1205 bytes, at most 1024 are allowed`,
	"two_paths_for_one_file":     `line 4: "mdAddr.dat": line 1 has another path for this file: keep one of the two`,
	"five_fields":                "line 4: has 5 fields, expected name|TYPE|OS|COMPILER|ARCHITECTURE|path",
	"seven_fields":               "line 4: has 7 fields, expected name|TYPE|OS|COMPILER|ARCHITECTURE|path",
	"comment":                    "line 4: has 1 fields, expected name|TYPE|OS|COMPILER|ARCHITECTURE|path",
	"unknown_type":               `line 4: "x.zip": type "PRODUCT" is not DATA, BINARY or INTERFACE`,
	"empty_name":                 "line 4: field 1: empty path segment",
	"name_with_slash":            `line 4: field 1: slash or backslash in path segment "a/x.dat"`,
	"name_of_dots":               `line 4: field 1: path segment ".."`,
	"empty_system":               "line 4: field 3: empty path segment",
	"utf16":                      "line 1: is not UTF-8 text: save the file as UTF-8",
}

func TestEveryFormOfAMapIsAppliedOrRefusedByName(t *testing.T) {
	paths, err := filepath.Glob("testdata/maps/*.map")
	if err != nil || len(paths) < 50 {
		t.Fatalf("%d maps, %v", len(paths), err)
	}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".map")
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(path)
			must(t, err)
			m, err := ParseMap(data)
			if want := refused[name]; want != "" {
				if _, ok := errors.AsType[*MapError](err); !ok || err.Error() != want || m != nil {
					t.Errorf("got  %v\nwant %s", err, want)
				}
				return
			}
			must(t, err)
			if m.Len() > 0 || !strings.Contains(name, "empty") && !strings.Contains(name, "only") {
				applies(t, m)
			}
		})
	}
}

func applies(t *testing.T, m *Map) {
	t.Helper()
	for i, ref := range references {
		if got, found := m.Path(ref); !found || got != places[i] {
			t.Errorf("%s lies at %q, want %q", ref, got, places[i])
		}
	}
}

func TestLookUpComparesSystemsWithoutCaseAndNamesExactly(t *testing.T) {
	m, err := ParseMap([]byte("a.dat|DATA|ANY|ANY|ANY|1\nl.so|BINARY|LINUX|GCC48|64BIT|2\nj|INTERFACE|ANY|JAVA|ANY|3\n"))
	if err != nil || m.Len() != 3 {
		t.Fatal(m, err)
	}
	for _, test := range []struct{ file, want string }{
		{"Data/2026.10/a.dat", "1"},
		{"Data/2020.01/a.dat", "1"},
		{"Data/2026.10/A.dat", ""},
		{"Product/2026.10/a.dat", ""},
		{"Library/linux/gcc48/64bit/2026.10/l.so", "2"},
		{"Library/LINUX/GCC48/32BIT/2026.10/l.so", ""},
		{"Library/LINUX/GCC83/64BIT/2026.10/l.so", ""},
		{"Library/AIX/GCC48/64BIT/2026.10/l.so", ""},
		{"Library/LINUX/GCC48/64BIT/2026.10/L.so", ""},
		{"Interface/any/Java/ANY/2026.10/j", "3"},
		{"Interface/ANY/PHP/ANY/2026.10/j", ""},
		{"Library/ANY/JAVA/ANY/2026.10/j", ""},
	} {
		ref, err := manifest.ParseReference(test.file)
		must(t, err)
		if got, found := m.Path(ref); got != test.want || found != (test.want != "") {
			t.Errorf("%s lies at %q, %v, want %q", test.file, got, found, test.want)
		}
	}
}

func TestAMapAboveItsLimitIsRefused(t *testing.T) {
	line := []byte("a.dat|DATA|ANY|ANY|ANY|a.dat\n")
	data := bytes.Repeat(line, MaxMap/len(line))
	if _, err := ParseMap(data); err != nil {
		t.Errorf("%d bytes: %v", len(data), err)
	}
	if _, err := ParseMap(append(data, bytes.Repeat([]byte("\n"), len(line))...)); err == nil || !strings.Contains(err.Error(), "at most 16777216 are allowed") {
		t.Errorf("above the limit: %v", err)
	}
}

func TestAFileLiesWhereTheUpdaterPutsIt(t *testing.T) {
	for file, want := range map[string]string{
		"Data/2026.10/mdAddr.dat":                        "M/data/mdAddr.dat",
		"Library/LINUX/GCC48/64BIT/2026.10/libmdAddr.so": "M/linux/gcc48/64bit/libmdAddr.so",
		"Library/ANY/ANY/ANY/2026.10/x":                  "M/any/any/any/x",
		"Interface/LINUX/JAVA/64BIT/2026.10/x.so":        "M/interfaces/linux/java/64bit/x.so",
		"Interface/ANY/PYTHON/ANY/2026.10/md_python.py":  "M/interfaces/python/md_python.py",
		"Interface/any/NET/64BIT/2026.10/X.dll":          "M/interfaces/net/64bit/X.dll",
		"Interface/WINDOWS/NET/Any/2026.10/X.dll":        "M/interfaces/windows/net/X.dll",
		"Interface/ANY/ANY/ANY/2026.10/readme.txt":       "M/interfaces/any/readme.txt",
		"Product/2026.10/DataQualitySuite":               "M/DataQualitySuite",
	} {
		ref, err := manifest.ParseReference(file)
		must(t, err)
		if got := Place("M", ref); got != want {
			t.Errorf("%s lies at %s, want %s", file, got, want)
		}
	}
}

func TestAWrittenMapPlacesEachFileAsTheUpdaterDoes(t *testing.T) {
	got, err := WriteMap("m", references)
	want := "mdAddr.dat|DATA|ANY|ANY|ANY|m/data/mdAddr.dat\n" +
		"libmdAddr.so|BINARY|LINUX|GCC48|64BIT|m/linux/gcc48/64bit/libmdAddr.so\n" +
		"mdAddr.jar|INTERFACE|ANY|JAVA|ANY|m/interfaces/java/mdAddr.jar\n"
	if diff := cmp.Diff(want, string(got)); err != nil || diff != "" {
		t.Error(err, diff)
	}
	for file, problem := range map[string]string{
		"Product/2026.10/all.zip": "Product/2026.10/all.zip: a map file has no lines for class Product",
		"Data/2026.10/a|b":        "Data/2026.10/a|b: a map file cannot hold a name with a |",
	} {
		ref, err := manifest.ParseReference(file)
		must(t, err)
		if _, err := WriteMap("m", []manifest.Reference{ref}); err == nil || err.Error() != problem {
			t.Errorf("%s: %v, want %s", file, err, problem)
		}
	}
}

func TestHashFilesAreThoseOfTheUpdater(t *testing.T) {
	id, err := manifest.ParseObjectID("9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08")
	must(t, err)
	if got := HashName("mdAddr.dat"); got != "mdAddr.dat.hash" || HashText(id) != id.String() {
		t.Errorf("%s holds %q", got, HashText(id))
	}
}

// FuzzParseMap checks that every path of a map stays below its folder, and that a map
// that is written from the files of another one has them all.
func FuzzParseMap(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := ParseMap(data)
		if err != nil {
			if m != nil || strings.ContainsAny(err.Error(), "\n\x1b\x00") {
				t.Errorf("%v with error %q", m, err)
			}
			return
		}
		for _, place := range m.paths {
			if !filepath.IsLocal(place) || filepath.Clean(place) != place || strings.ContainsAny(place, "\\\r\n\x00") {
				t.Errorf("path %q", place)
			}
		}
		rewritten(t, data, m)
	})
}

// rewritten checks each file of a map against the map that WriteMap makes of it.
func rewritten(t *testing.T, data []byte, m *Map) {
	for line := range strings.Lines(strings.TrimPrefix(string(data), "\uFEFF")) {
		ref, place, _ := parseLine(strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r"))
		if place == "" {
			continue
		}
		if got, found := m.Path(ref); !found || got != place {
			t.Errorf("%q lies at %q, want %q", ref, got, place)
		}
		written, err := WriteMap("m", []manifest.Reference{ref})
		must(t, err)
		again, err := ParseMap(written)
		if err != nil {
			t.Fatalf("%q: %v", written, err)
		}
		if got, _ := again.Path(ref); got != Place("m", ref) {
			t.Errorf("%q lies at %q", ref, got)
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
