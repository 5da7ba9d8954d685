package manifest

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"syncd/internal/manifest/refusal"
)

func TestParseLinkReadsEveryForm(t *testing.T) {
	data := Parts{Class: Data, Release: "2026.10", Name: "mdAddr.dat"}.Reference()
	library := Parts{Class: Library, OS: "LINUX", Compiler: "GCC48", Architecture: "64BIT", Release: "2026.09", Name: "libmdAddr.so"}.Reference()
	iface := Parts{Class: Interface, OS: "ANY", Language: "JAVA", Architecture: "ANY", Release: "2025.12", Name: "mdAddr.java"}.Reference()
	variant := func(tag string) Reference {
		return data.WithTag(tag)
	}
	longest := strings.Repeat("n", maxSegment)
	rows := []struct {
		name, link string
		want       Reference
	}{
		{"data", "https://releases.example.net/Download/Data/2026.10/mdAddr.dat?ID=KEY", data},
		{"slash before the query", "https://releases.example.net/Download/Data/2026.10/mdAddr.dat/?ID=KEY", data},
		{"no query", "https://releases.example.net/Download/Data/2026.10/mdAddr.dat", data},
		{"http with a port", "http://127.0.0.1:8080/Download/Data/2026.10/mdAddr.dat?ID=KEY", data},
		{"scheme in capitals", "HTTPS://releases.example.net/Download/Data/2026.10/mdAddr.dat", data},
		{"another host", "https://evil.example.org/Download/Data/2026.10/mdAddr.dat", data},
		{"user part", "https://user:pass@releases.example.net/Download/Data/2026.10/mdAddr.dat", data},
		{"address in brackets", "https://[::1]:8443/Download/Data/2026.10/mdAddr.dat", data},
		{"path alone", "/Download/Data/2026.10/mdAddr.dat", data},
		{"path without a slash in front", "Download/Data/2026.10/mdAddr.dat", data},
		{"prefix before Download", "https://cdn.example.net/a/b/Download/Data/2026.10/mdAddr.dat", data},
		{"other case of Download and class", "https://releases.example.net/download/DATA/2026.10/mdAddr.dat", data},
		{"percent-encoded letters", "https://releases.example.net/%44ownload/%64ata/2026%2E10/mdAddr%2edat", data},
		{"fragment", "https://releases.example.net/Download/Data/2026.10/mdAddr.dat#part", data},
		{"fragment before the query", "https://releases.example.net/Download/Data/2026.10/mdAddr.dat#a?ID=KEY", data},
		{"slashes and dots in the query", "https://releases.example.net/Download/Data/2026.10/mdAddr.dat?ID=../../x://y", data},
		{"tag", "https://releases.example.net/Download/Data/2026.10/mdAddr.dat?ID=KEY&tag=NET7", variant("NET7")},
		{"tag before the id", "https://releases.example.net/Download/Data/2026.10/mdAddr.dat/?TAG=a%26b+c&ID=KEY", variant("a&b c")},
		{"the same tag twice", "https://releases.example.net/Download/Data/2026.10/mdAddr.dat?tag=NET7&%54ag=NET7", variant("NET7")},
		{"empty tag", "https://releases.example.net/Download/Data/2026.10/mdAddr.dat?tag=&ID=KEY", data},
		{"tag in the fragment", "https://releases.example.net/Download/Data/2026.10/mdAddr.dat?ID=KEY#&tag=NET7", data},
		{"another parameter with a bad encoding", "https://releases.example.net/Download/Data/2026.10/mdAddr.dat?ID=%zz&tag=NET7", variant("NET7")},
		{"library", "https://releases.example.net/Download/Library/LINUX/GCC48/64BIT/2026.09/libmdAddr.so/?ID=KEY", library},
		{"interface", "https://releases.example.net/Download/Interface/ANY/JAVA/ANY/2025.12/mdAddr.java/?ID=KEY", iface},
		{"product", "https://releases.example.net/Download/Product/2026.10/dq.zip/?ID=KEY", Parts{Class: Product, Release: "2026.10", Name: "dq.zip"}.Reference()},
		{"space, plus and percent", "/Download/Data/2026.10/a%20b+c%25d", Parts{Class: Data, Release: "2026.10", Name: "a b+c%d"}.Reference()},
		{"double encoding is decoded once", "/Download/Data/2026.10/%252e%252e", Parts{Class: Data, Release: "2026.10", Name: "%2e%2e"}.Reference()},
		{"double encoded slash", "/Download/Data/2026.10/a%252Fb", Parts{Class: Data, Release: "2026.10", Name: "a%2Fb"}.Reference()},
		{"three dots", "/Download/Data/2026.10/...", Parts{Class: Data, Release: "2026.10", Name: "..."}.Reference()},
		{"letters beyond ASCII", "/Download/Data/2026.10/Stra%C3%9Fe.txt", Parts{Class: Data, Release: "2026.10", Name: "Straße.txt"}.Reference()},
		{"colon in the name", "/Download/Data/2026.10/c:d", Parts{Class: Data, Release: "2026.10", Name: "c:d"}.Reference()},
		{"the name Download", "/Download/Data/2026.10/Download", Parts{Class: Data, Release: "2026.10", Name: "Download"}.Reference()},
		{"255 bytes", "/Download/Data/2026.10/" + longest, Parts{Class: Data, Release: "2026.10", Name: longest}.Reference()},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			got, err := ParseLink(row.link)
			must(t, err)
			same(t, row.want, got)
		})
	}
}

func TestParseLinkRefusesOtherLinks(t *testing.T) {
	const base = "https://releases.example.net/Download/Data/2026.10/"
	rows := []struct {
		name, link string
		want       refusal.Reason
	}{
		{"parent", base + "..", refusal.BadName},
		{"parent, encoded", base + "%2e%2e", refusal.BadName},
		{"parent, half encoded", base + ".%2E", refusal.BadName},
		{"parent as the release", "/Download/Data/../passwd", refusal.BadName},
		{"parent as the system", "/Download/Library/%2e%2e/GCC48/64BIT/2026.10/x", refusal.BadName},
		{"parent before Download", "/../Download/Data/2026.10/x", refusal.BadName},
		{"the folder itself", base + ".", refusal.BadName},
		{"encoded slash", base + "..%2F..%2Fetc%2Fpasswd", refusal.BadName},
		{"encoded slash, lower case", base + "a%2fb", refusal.BadName},
		{"encoded backslash", base + "..%5C..%5Cboot.ini", refusal.BadName},
		{"backslash", base + `a\b`, refusal.BadName},
		{"NUL", base + "a%00.dat", refusal.BadName},
		{"NUL, not encoded", base + "a\x00.dat", refusal.BadName},
		{"newline", base + "a%0Ab", refusal.BadName},
		{"newline, not encoded", base + "a\nb", refusal.BadName},
		{"carriage return", base + "a%0D", refusal.BadName},
		{"tab", base + "a%09b", refusal.BadName},
		{"escape", base + "%1B[2Jx", refusal.BadName},
		{"delete", base + "a%7F", refusal.BadName},
		{"control of the second block", base + "a%C2%85b", refusal.BadName},
		{"256 bytes", base + strings.Repeat("n", maxSegment+1), refusal.BadName},
		{"256 bytes after decoding", base + strings.Repeat("%6E", maxSegment+1), refusal.BadName},
		{"128 letters of two bytes", base + strings.Repeat("%C3%9F", 128), refusal.BadName},
		{"invalid UTF-8", base + "a%FFb", refusal.BadName},
		{"over-long slash", base + "a%C0%AFb", refusal.BadName},
		{"surrogate", base + "a%ED%A0%80", refusal.BadName},
		{"bad encoding", base + "a%zz", refusal.BadName},
		{"cut encoding", base + "a%2", refusal.BadName},
		{"empty name", "https://releases.example.net/Download/Data/2026.10//", refusal.BadName},
		{"empty release", "/Download/Data//x", refusal.BadName},
		{"two slashes", "/Download//Data/2026.10/x", refusal.BadName},
		{"no scheme but a host", "//releases.example.net/Download/Data/2026.10/x", refusal.BadName},
		{"empty", "", refusal.BadName},
		{"query alone", "?ID=KEY", refusal.BadName},
		{"host alone", "https://releases.example.net", refusal.BadName},
		{"file", "file:///Download/Data/2026.10/x", refusal.BadShape},
		{"file without a host", "file:/Download/Data/2026.10/x", refusal.BadShape},
		{"ftp", "ftp://releases.example.net/Download/Data/2026.10/x", refusal.BadShape},
		{"javascript", "javascript:Download/Data/2026.10/x", refusal.BadShape},
		{"https without a host", "https:/Download/Data/2026.10/x", refusal.BadShape},
		{"drive letter", `C:Download/Data/2026.10/x`, refusal.BadShape},
		{"no Download", "https://releases.example.net/Data/2026.10/x", refusal.BadShape},
		{"Download as the host", "https://Download/Data/2026.10/x", refusal.BadShape},
		{"nothing after Download", "https://releases.example.net/Download/", refusal.BadShape},
		{"unknown class", "/Download/Tool/2026.10/x", refusal.BadShape},
		{"too few segments", "/Download/Data/x", refusal.BadShape},
		{"too many segments", "/Download/Data/2026.10/sub/x", refusal.BadShape},
		{"library without a compiler", "/Download/Library/LINUX/64BIT/2026.10/x", refusal.BadShape},
		{"Download twice", "/Download/Download/Data/2026.10/x", refusal.BadShape},
		{"HTML", "<!DOCTYPE html>", refusal.BadShape},
		{"two tags", base + "x?tag=A&tag=B", refusal.BadShape},
		{"newline in the tag", base + "x?tag=A%0AB", refusal.BadName},
		{"slash in the tag", base + "x?tag=../A", refusal.BadName},
		{"question mark in the tag", base + "x?tag=A?tag=B", refusal.BadName},
		{"bad encoding of the tag", base + "x?tag=%zz", refusal.BadName},
		{"tag of 256 bytes", base + "x?tag=" + strings.Repeat("n", maxSegment+1), refusal.BadName},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			ref, err := ParseLink(row.link)
			if got := refusal.ReasonOf(err); got != row.want {
				t.Errorf("got %+v and %q (%v), want a refusal for %q", ref, got, err, row.want)
			}
		})
	}
}

func TestErrorsOfLinksDoNotRepeatTheCustomerID(t *testing.T) {
	for _, link := range []string{
		"https://releases.example.net/Nowhere/x?ID=SECRET",
		"https://SECRET@releases.example.net/Download/Data/../x?ID=SECRET",
		"ftp://releases.example.net/?ID=SECRET",
		"?ID=SECRET",
	} {
		_, err := parseLinks([]string{link})
		if err == nil || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%s: %v", link, err)
		}
	}
}

func TestParseReferenceReadsTypedReferences(t *testing.T) {
	rows := []struct {
		name, text string
		want       Reference
		reason     refusal.Reason
	}{
		{"data", "Data/2026.10/ews.txt", Parts{Class: Data, Release: "2026.10", Name: "ews.txt"}.Reference(), ""},
		{"class in lower case", "data/2026.10/ews.txt", Parts{Class: Data, Release: "2026.10", Name: "ews.txt"}.Reference(), ""},
		{"slashes around", "/Data/2026.10/ews.txt/", Parts{Class: Data, Release: "2026.10", Name: "ews.txt"}.Reference(), ""},
		{"percent stays", "Data/2026.10/a%2Fb", Parts{Class: Data, Release: "2026.10", Name: "a%2Fb"}.Reference(), ""},
		{"library", "Library/LINUX/GCC48/64BIT/2026.10/x.so", Parts{Class: Library, OS: "LINUX", Compiler: "GCC48", Architecture: "64BIT", Release: "2026.10", Name: "x.so"}.Reference(), ""},
		{"tag", "Data/2026.10/ews.txt?tag=NET7", Parts{Class: Data, Release: "2026.10", Name: "ews.txt", Tag: "NET7"}.Reference(), ""},
		{"name that looks like a tag", "Data/2026.10/a?tag=b?tag=", Parts{Class: Data, Release: "2026.10", Name: "a?tag=b"}.Reference(), ""},
		{"slash in the tag", "Data/2026.10/ews.txt?tag=a/b", Reference(""), refusal.BadName},
		{"parent", "Data/2026.10/..", Reference(""), refusal.BadName},
		{"parent in the middle", "Data/../ews.txt", Reference(""), refusal.BadName},
		{"empty segment", "Data//ews.txt", Reference(""), refusal.BadName},
		{"empty", "", Reference(""), refusal.BadName},
		{"class alone", "Data", Reference(""), refusal.BadShape},
		{"too short", "Data/ews.txt", Reference(""), refusal.BadShape},
		{"unknown class", "Dat/2026.10/ews.txt", Reference(""), refusal.BadShape},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			got, err := ParseReference(row.text)
			if refusal.ReasonOf(err) != row.reason || (err != nil) != (row.reason != "") {
				t.Fatalf("refused for %v, want %q", err, row.reason)
			}
			same(t, row.want, got)
		})
	}
}

// A fuzz corpus of links with tags checks the same for hostile ones.
func TestTextOfATaggedReferenceReadsAsTheSameReference(t *testing.T) {
	for _, ref := range []Reference{
		Parts{Class: Data, Release: "2026.10", Name: "a", Tag: "NET7"}.Reference(),
		Parts{Class: Data, Release: "2026.10", Name: "a?tag=b"}.Reference(),
		Parts{Class: Data, Release: "2026.10", Name: "a?tag=b", Tag: "c&d e"}.Reference(),
		Parts{Class: Library, OS: "x?tag=y", Compiler: "C", Architecture: "ANY", Release: "2026.10", Name: "a"}.Reference(),
	} {
		if again, err := ParseReference(ref.String()); err != nil || again != ref {
			t.Errorf("%q reads as %+v, %v", ref, again, err)
		}
	}
}

func TestVariantsOfOneFileClashByName(t *testing.T) {
	usual := Parts{Class: Library, OS: "WINDOWS", Compiler: "NET", Architecture: "ANY", Release: "2026.10", Name: "Tool.exe"}.Reference()
	tagged := usual.WithTag("NET7")
	list := listOf(usual, tagged)
	err := list.CheckPaths()
	if list.Len() != 2 || refusal.ReasonOf(err) != refusal.PathClash || !strings.Contains(err.Error(), usual.String()) || !strings.Contains(err.Error(), tagged.String()) {
		t.Errorf("%d files, %v", list.Len(), err)
	}
	if got := listOf(tagged).Files()[0]; got.Reference != tagged || got.Path != "windows/net/any/Tool.exe" {
		t.Errorf("%+v", got)
	}
	if listOf(usual).Fingerprint() == listOf(tagged).Fingerprint() {
		t.Error("the list of the variant has the fingerprint of the usual file")
	}
}

func TestPathsFollowTheLayout(t *testing.T) {
	rows := []struct{ name, reference, want string }{
		{"data at the top", "Data/2026.10/mdAddr.dat", "mdAddr.dat"},
		{"product at the top", "Product/2026.10/Dq.ZIP", "Dq.ZIP"},
		{"library by system", "Library/LINUX/GCC48/64BIT/2026.10/libX.so", "linux/gcc48/64bit/libX.so"},
		{"any is kept", "Library/ANY/JAVA/ANY/2026.10/X.jar", "any/java/any/X.jar"},
		{"interface below interfaces", "Interface/WINDOWS/NET/32BIT/2026.10/X.cs", "interfaces/windows/net/32bit/X.cs"},
		{"letters beyond ASCII stay", "Library/Ⱥ/İ/\u212a/2026.10/x", "Ⱥ/İ/\u212a/x"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			ref, err := ParseReference(row.reference)
			must(t, err)
			if ref.Path() != row.want || ref.String() != row.reference {
				t.Errorf("path %q of %q, want %q of %q", ref.Path(), ref.String(), row.want, row.reference)
			}
		})
	}
}

func TestSegmentsOfAPathStayWithinTheLimitOfFileSystems(t *testing.T) {
	system := strings.Repeat("Ⱥ", 127) // two bytes each; three in lower case
	ref, err := ParseReference("Library/" + system + "/C/ANY/2026.10/x")
	must(t, err)
	for segment := range strings.SplitSeq(ref.Path(), "/") {
		if len(segment) > maxSegment {
			t.Errorf("segment of %d bytes", len(segment))
		}
	}
}

func TestFileSegmentsLeaveOutClassAndRelease(t *testing.T) {
	got := map[Class][]string{}
	for _, text := range []string{"Data/R/n", "Product/R/n", "Library/O/C/A/R/n", "Interface/O/L/A/R/n"} {
		ref, err := ParseReference(text)
		must(t, err)
		got[ref.Class()] = ref.FileSegments()
	}
	want := map[Class][]string{Data: {"n"}, Product: {"n"}, Library: {"O", "C", "A", "n"}, Interface: {"O", "L", "A", "n"}}
	same(t, want, got)
}

func FuzzParseLink(f *testing.F) {
	f.Fuzz(func(t *testing.T, link string) {
		ref, err := ParseLink(link)
		checkParsed(t, ref, err)
	})
}

func FuzzParseReference(f *testing.F) {
	f.Fuzz(func(t *testing.T, text string) {
		ref, err := ParseReference(text)
		checkParsed(t, ref, err)
	})
}

// checkParsed holds what every user of a parsed reference relies on.
func checkParsed(t *testing.T, ref Reference, err error) {
	t.Helper()
	if err != nil {
		if refusal.ReasonOf(err) == "" || ref != (Reference("")) {
			t.Fatalf("error without a reason, or with a result: %+v, %v", ref, err)
		}
		return
	}
	p := ref.Path()
	if !filepath.IsLocal(p) || filepath.ToSlash(filepath.Clean(p)) != p || strings.ContainsFunc(p, unicode.IsControl) {
		t.Fatalf("path %q of %+v is not plain and local", p, ref)
	}
	for segment := range strings.SplitSeq(p, "/") {
		if len(segment) > maxSegment {
			t.Fatalf("segment of %d bytes in %q", len(segment), p)
		}
	}
	if again, err := ParseReference(ref.String()); err != nil || again != ref {
		t.Fatalf("%q reads as %+v, %v; it was %+v", ref.String(), again, err, ref)
	}
	if err := listOf(ref).CheckPaths(); err != nil {
		t.Fatalf("alone, it clashes: %v", err)
	}
}

func BenchmarkParseLinks(b *testing.B) {
	links := make([]string, 200)
	for i := range links {
		links[i] = fmt.Sprintf("https://releases.example.net/Download/Library/LINUX/GCC48/64BIT/2026.10/libmdAddr%03d.so/?ID=KEY", i)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := parseLinks(links); err != nil {
			b.Fatal(err)
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func same(t testing.TB, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
