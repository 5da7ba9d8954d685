package layout

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"syncd/internal/manifest"
	"syncd/internal/manifest/refusal"
)

// file is a file of manifest m by its reference; its content is that of its name.
func file(t *testing.T, m, text string) File {
	t.Helper()
	ref, err := manifest.ParseReference(text)
	must(t, err)
	return File{Manifest: m, File: manifest.File{Path: ref.Path(), Reference: ref, Expected: manifest.Digest{Algorithm: manifest.SHA256, Sum: [32]byte{1}}}}
}

func files(t *testing.T) []File {
	return []File{
		file(t, "data", "Data/2026.10/us.dat"),
		file(t, "bins", "Library/LINUX/GCC48/64BIT/2026.10/libmd.so"),
		file(t, "bins", "Interface/ANY/JAVA/ANY/2026.08/md.jar"),
	}
}

func TestEachLayoutGivesFilesTheirPaths(t *testing.T) {
	m, err := ParseMap([]byte("libmd.so|BINARY|linux|gcc48|64bit|lib/libmd.so\ngone|DATA|ANY|ANY|ANY|x\n"))
	must(t, err)
	for layout, want := range map[Layout]Tree{
		Native:   {Paths: []string{"us.dat", "linux/gcc48/64bit/libmd.so", "interfaces/any/java/any/md.jar"}},
		Flat:     {Paths: []string{"us.dat", "libmd.so", "md.jar"}},
		Provider: {Paths: []string{"data/data/us.dat", "bins/linux/gcc48/64bit/libmd.so", "bins/interfaces/java/md.jar"}},
		ByMap:    {Paths: []string{"data/data/us.dat", "lib/libmd.so", "bins/interfaces/java/md.jar"}, Unmapped: []int{0, 2}},
	} {
		v := View{Name: "v", Manifests: []string{"data", "bins"}, Layout: layout, HashFiles: true, Maps: map[string]*Map{"bins": m}}
		got, err := v.Arrange(files(t))
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", layout, err, diff)
		}
	}
}

func TestFilesThatCannotLieInOneTreeAreRefusedByName(t *testing.T) {
	long := strings.Repeat("n", 251)
	for _, test := range []struct {
		name, a, b, want string
		hash             bool
		reason           refusal.Reason
	}{
		{"one name", "Data/2026.10/x", "Library/LINUX/A/B/2026.10/x", `two different files at "x"`, false, refusal.PathClash},
		{"another release", "Data/2026.10/x", "Data/2026.09/x", `two different files at "x"`, false, refusal.PathClash},
		{"another case", "Data/2026.10/x", "Data/2026.10/X", `"X" and "x" differ only in case`, false, refusal.PathClash},
		{"hash file", "Data/2026.10/x", "Data/2026.10/x.hash", `two different files at "x.hash"`, true, refusal.PathClash},
		{"case of a hash file", "Data/2026.10/x", "Data/2026.10/x.HASH", `"x.HASH" and "x.hash" differ only in case`, true, refusal.PathClash},
		{"long name", "Data/2026.10/x", "Data/2026.10/" + long, "path segment of 256 bytes", true, refusal.BadName},
	} {
		t.Run(test.name, func(t *testing.T) {
			v := View{Name: "v", Layout: Flat, HashFiles: test.hash}
			_, err := v.Arrange([]File{file(t, "one", test.a), file(t, "two", test.b)})
			var problem *PlaceError
			if refusal.ReasonOf(err) != test.reason || !errors.As(err, &problem) || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("%v", err)
			}
			for _, named := range problem.Names() {
				if !strings.Contains(err.Error(), " of "+named) {
					t.Errorf("%v does not name the file of %s", err, named)
				}
			}
		})
	}
}

func TestAFileThatTwoManifestsListIsOneFile(t *testing.T) {
	v := View{Name: "v", Layout: Flat, HashFiles: true}
	a, b := file(t, "one", "Data/2026.10/x"), file(t, "two", "Data/2026.10/x")
	got, err := v.Arrange([]File{a, b})
	if diff := cmp.Diff(Tree{Paths: []string{"x", ""}}, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
	b.Expected.Sum[0]++
	if _, err := v.Arrange([]File{a, b}); refusal.ReasonOf(err) != refusal.PathClash {
		t.Errorf("other content: %v", err)
	}
}

func TestFingerprintChangesWithEverythingThatPlacesFiles(t *testing.T) {
	parse := func(text string) map[string]*Map {
		m, err := ParseMap([]byte(text))
		must(t, err)
		return map[string]*Map{"one": m}
	}
	base := View{Manifests: []string{"one", "two"}, Layout: ByMap, Maps: parse("a|DATA|ANY|ANY|ANY|x\nb|DATA|ANY|ANY|ANY|y\n")}
	same := base
	same.Manifests, same.Maps = []string{"two", "one"}, parse("\uFEFFb|DATA|ANY|ANY|ANY|y\r\na|data|any|any|any|x")
	if base.Fingerprint() != same.Fingerprint() {
		t.Error("order and form of a map changed it")
	}
	seen := map[string]bool{base.Fingerprint(): true}
	for _, change := range []func(*View){
		func(v *View) { v.Layout = Provider },
		func(v *View) { v.HashFiles = true },
		func(v *View) { v.Manifests = v.Manifests[:1] },
		func(v *View) { v.Maps = nil },
		func(v *View) { v.Maps = parse("a|DATA|ANY|ANY|ANY|z\n") },
	} {
		v := base
		change(&v)
		if seen[v.Fingerprint()] {
			t.Errorf("%+v has the fingerprint of another view", v)
		}
		seen[v.Fingerprint()] = true
	}
}
