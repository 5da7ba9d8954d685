package manifest

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"syncd/internal/manifest/refusal"
)

// parseAll reads references as people type them.
func parseAll(t *testing.T, texts ...string) []Reference {
	t.Helper()
	var refs []Reference
	for _, text := range texts {
		ref, err := ParseReference(text)
		must(t, err)
		refs = append(refs, ref)
	}
	return refs
}

func listOf(refs ...Reference) *List {
	var list ListBuilder
	for _, ref := range refs {
		if err := list.Add(ref); err != nil {
			panic(err)
		}
	}
	return list.List()
}

func paths(list *List) []string {
	paths := []string{}
	for ref := range list.All() {
		paths = append(paths, ref.Path())
	}
	return paths
}

func TestIdenticalLinksAreOneFile(t *testing.T) {
	refs, err := parseLinks([]string{
		"https://a.example.net/Download/Library/LINUX/GCC48/64BIT/2026.10/x.so/?ID=KEY",
		"https://b.example.net/Download/Data/2026.10/x.dat?ID=KEY",
		"http://c.example.net/prefix/download/library/Linux/gcc48/64Bit/2026.10/x%2Eso",
		"/Download/Data/2026.10/x.dat",
	})
	must(t, err)
	want := parseAll(t, "Library/LINUX/GCC48/64BIT/2026.10/x.so", "Data/2026.10/x.dat")
	same(t, want, refs)
}

func TestLinksOfDifferentFilesAreNeverMerged(t *testing.T) {
	rows := []struct{ name, a, b string }{
		{"release", "Data/2026.10/x", "Data/2026.09/x"},
		{"class", "Data/2026.10/x", "Product/2026.10/x"},
		{"case of the name", "Data/2026.10/x", "Data/2026.10/X"},
		{"dotless i", "Library/WINDOWS/C/ANY/2026.10/x", "Library/WıNDOWS/C/ANY/2026.10/x"},
		{"long s", "Library/AS/C/ANY/2026.10/x", "Library/Aſ/C/ANY/2026.10/x"},
		{"Kelvin sign", "Library/K/C/ANY/2026.10/x", "Library/\u212a/C/ANY/2026.10/x"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			refs, err := parseLinks([]string{"/Download/" + row.a, "/Download/" + row.b})
			if err != nil || len(refs) != 2 {
				t.Errorf("%v, %v", refs, err)
			}
		})
	}
}

func TestCheckPathsRefusesFilesThatCannotLieInOneTree(t *testing.T) {
	rows := []struct {
		name       string
		references []string
		want       refusal.Reason
	}{
		{"none", nil, ""},
		{"different names", []string{"Data/2026.10/a", "Data/2026.10/b"}, ""},
		{"one name, many systems", []string{"Library/LINUX/C/64BIT/R/x", "Library/LINUX/C/32BIT/R/x", "Library/AIX/C/64BIT/R/x", "Interface/LINUX/C/64BIT/R/x"}, ""},
		{"two releases of one file", []string{"Data/2026.10/a", "Data/2026.09/a"}, refusal.PathClash},
		{"data and product", []string{"Data/2026.10/a", "Product/2026.10/a"}, refusal.PathClash},
		{"case of names", []string{"Data/2026.10/a.dat", "Data/2026.10/A.dat"}, refusal.PathClash},
		{"case beyond ASCII", []string{"Data/2026.10/ÄPFEL", "Data/2026.10/äpfel"}, refusal.PathClash},
		{"case of Greek final sigma", []string{"Data/2026.10/ΟΔΟΣ", "Data/2026.10/οδος"}, refusal.PathClash},
		{"sharp s", []string{"Data/2026.10/ẞ", "Data/2026.10/ß"}, refusal.PathClash},
		{"Kelvin sign", []string{"Data/2026.10/k", "Data/2026.10/\u212a"}, refusal.PathClash},
		{"folders that differ in case", []string{"Library/Ä/C/ANY/R/a", "Library/ä/C/ANY/R/b"}, refusal.PathClash},
		{"file at the folder of interfaces", []string{"Data/2026.10/interfaces", "Interface/ANY/C/ANY/R/x"}, refusal.PathClash},
		{"the same, later", []string{"Interface/ANY/C/ANY/R/x", "Data/2026.10/interfaces"}, refusal.PathClash},
		{"the same in capitals", []string{"Interface/ANY/C/ANY/R/x", "Data/2026.10/INTERFACES"}, refusal.PathClash},
		{"file at a folder of a system", []string{"Data/2026.10/linux", "Library/LINUX/C/ANY/R/x"}, refusal.PathClash},
		{"library within an interface", []string{"Library/interfaces/any/c/R/any", "Interface/ANY/C/ANY/R/x"}, refusal.PathClash},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			err := listOf(parseAll(t, row.references...)...).CheckPaths()
			if got := refusal.ReasonOf(err); got != row.want || (err == nil) != (row.want == "") {
				t.Errorf("%v, want %q", err, row.want)
			}
		})
	}
}

func TestFilterChooses(t *testing.T) {
	all := listOf(parseAll(t,
		"Data/R/a.dat", "Data/R/b.txt", "Product/R/p.zip",
		"Library/LINUX/GCC48/64BIT/R/x.so", "Library/WINDOWS/DLL/32BIT/R/x.dll", "Library/ANY/JAVA/ANY/R/x.jar",
		"Interface/LINUX/C/64BIT/R/x.h", "Interface/ANY/JAVA/ANY/R/X.java",
	)...)
	everything := paths(all)
	rows := []struct {
		name   string
		filter Filter
		want   []string
	}{
		{"everything", Filter{}, everything},
		{"a system, and what fits any", Filter{OS: []string{"linux"}}, []string{"a.dat", "b.txt", "p.zip", "linux/gcc48/64bit/x.so", "any/java/any/x.jar", "interfaces/linux/c/64bit/x.h", "interfaces/any/java/any/X.java"}},
		{"a compiler leaves interfaces alone", Filter{Compiler: []string{"DLL"}}, []string{"a.dat", "b.txt", "p.zip", "windows/dll/32bit/x.dll", "interfaces/linux/c/64bit/x.h", "interfaces/any/java/any/X.java"}},
		{"a language leaves libraries alone", Filter{Language: []string{"Java"}}, []string{"a.dat", "b.txt", "p.zip", "linux/gcc48/64bit/x.so", "windows/dll/32bit/x.dll", "any/java/any/x.jar", "interfaces/any/java/any/X.java"}},
		{"an architecture", Filter{Architecture: []string{"32BIT"}}, []string{"a.dat", "b.txt", "p.zip", "windows/dll/32bit/x.dll", "any/java/any/x.jar", "interfaces/any/java/any/X.java"}},
		{"two of a list", Filter{OS: []string{"AIX", "WINDOWS"}, Include: []string{"*.so", "*.dll"}}, []string{"windows/dll/32bit/x.dll"}},
		{"include by name", Filter{Include: []string{"*.dat", "*.so"}}, []string{"a.dat", "linux/gcc48/64bit/x.so"}},
		{"include by path", Filter{Include: []string{"linux/*/*/*"}}, []string{"linux/gcc48/64bit/x.so"}},
		{"exclude wins", Filter{Include: []string{"*"}, Exclude: []string{"x.*", "interfaces/*/*/*/*", "p.zip"}}, []string{"a.dat", "b.txt"}},
		{"globs see case", Filter{Include: []string{"A.*"}}, []string{}},
		{"a broken glob matches nothing", Filter{Include: []string{"["}}, []string{}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			same(t, row.want, paths(row.filter.Choose(all)))
		})
	}
}

func parseLinks(links []string) ([]Reference, error) {
	var list ListBuilder
	for _, link := range links {
		ref, err := ParseLink(link)
		if err != nil {
			return nil, err
		}
		if err := list.Add(ref); err != nil {
			return nil, err
		}
	}
	return slices.Collect(list.List().All()), nil
}

func TestAListAndItsFilesTakeNoMoreMemoryThanItsSize(t *testing.T) {
	const files = 50_000
	long := strings.Repeat("n", 200)
	for form, ref := range map[string]func(i int) Reference{
		"short names": func(i int) Reference { return Parts{Class: Data, Release: "2026.10", Name: fmt.Sprint(i)}.Reference() },
		"long names": func(i int) Reference {
			return Parts{Class: Data, Release: "2026.10", Name: fmt.Sprint(long, i)}.Reference()
		},
		"long folders": func(i int) Reference {
			return Parts{Class: Library, OS: long, Compiler: "C", Architecture: "ANY", Release: "2026.10", Name: fmt.Sprint(i)}.Reference()
		},
		"many folders": func(i int) Reference {
			return Parts{Class: Library, OS: fmt.Sprint("O", i%10_000), Compiler: "C", Architecture: "ANY", Release: "2026.10", Name: fmt.Sprint(i)}.Reference()
		},
	} {
		before := heap()
		var builder ListBuilder
		for i := range files {
			if err := builder.Add(ref(i)); err != nil {
				t.Fatalf("%s: %v", form, err)
			}
		}
		whileRead := heap() - before
		list := builder.List()
		builder = ListBuilder{}
		made := list.Files()
		after := heap() - before
		t.Logf("%s: %d bytes for a file while read, %d with the Files, size %d", form, whileRead/files, after/files, list.Size()/files)
		if most := max(whileRead, after); most > list.Size() {
			t.Errorf("%s: %d bytes for a file, want at most the size, %d", form, most/files, list.Size()/files)
		}
		runtime.KeepAlive(made)
		runtime.KeepAlive(list)
	}
}

func heap() int {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int(stats.HeapAlloc)
}

func TestPathsOfOver12MiBInOneListAreRefused(t *testing.T) {
	long := strings.Repeat("s", 200)
	var builder ListBuilder
	for i := range 250_000 {
		ref := Parts{Class: Library, OS: long, Compiler: long, Architecture: long, Release: "2026.10", Name: fmt.Sprint(i)}.Reference()
		if err := builder.Add(ref); refusal.ReasonOf(err) == refusal.TooLarge {
			return
		}
	}
	t.Errorf("paths of over 600 bytes were accepted 250,000 times")
}
