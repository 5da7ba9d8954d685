package releases

import (
	"fmt"
	"strings"
	"testing"

	"syncd/internal/manifest"
)

// BenchmarkParseMetadata and BenchmarkParseHash measure the results for one file.
func BenchmarkParseMetadata(b *testing.B) {
	body := fmt.Appendf(nil, `{"FileName":"small-000001.dat","Release":"2026.10","FileSize":"4096","MD5":%q,"SHA1":%q,"SHA256":%q,"BuildDate":"2026-10"}`,
		strings.Repeat("3f", 16), strings.Repeat("3f", 20), strings.Repeat("3f", 32))
	b.ReportAllocs()
	for b.Loop() {
		if meta, err := parseMetadata(body); err != nil || meta.Size != 4096 {
			b.Fatal(meta, err)
		}
	}
}

func BenchmarkParseHash(b *testing.B) {
	body := []byte(`"` + strings.Repeat("3f", 32) + `"`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := parseHash(manifest.SHA256, body); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkManifestList reads a list of 10,000 links.
func BenchmarkManifestList(b *testing.B) {
	links := make([]string, 10_000)
	for i := range links {
		links[i] = fmt.Sprintf("https://provider.example/Download/Data/2026.10/Some_File-%06d.dat/?ID=BENCH-ID", i)
	}
	c := connect(b, "https://provider.example")
	for name, body := range map[string]string{
		"json": `["` + strings.Join(links, `","`) + `"]`, "text": strings.Join(links, "\r\n"),
		"xml": "<ArrayOfstring><string>" + strings.Join(links, "</string><string>") + "</string></ArrayOfstring>",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				list, err := c.readFiles(b.Context(), strings.NewReader(body), nil)
				if err != nil || list.Len() != len(links) {
					b.Fatal(list, err)
				}
			}
		})
	}
}

// BenchmarkEscapedLinks reads links in which nearly each byte is an escape, the most
// expensive ones to search for the Customer ID.
func BenchmarkEscapedLinks(b *testing.B) {
	var body strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&body, "/Download/Data/2026.10/%s%d\n", strings.Repeat("%25", 200), i)
	}
	c := connect(b, "https://provider.example")
	b.SetBytes(int64(body.Len()))
	for b.Loop() {
		if _, err := c.readFiles(b.Context(), strings.NewReader(body.String()), nil); err != nil {
			b.Fatal(err)
		}
	}
}
