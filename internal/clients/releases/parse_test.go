package releases

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"syncd/internal/clients/transport"
	"syncd/internal/emulator"
	"syncd/internal/manifest"
	"syncd/internal/manifest/refusal"
)

// wire holds the list formats of docs/wire/releases.md, section "List formats".
var wire = map[string]func(items []string) string{
	"json": func(items []string) string { b, _ := json.Marshal(items); return string(b) },
	"xml":  func(items []string) string { return xmlOf(items, "") },
	"xml, pretty": func(items []string) string {
		return "<?xml version=\"1.0\" encoding=\"utf-8\"?>\r\n" + xmlOf(items, "\r\n  ") + "<!-- end -->\n"
	},
	"crLfList": func(items []string) string { return strings.Join(items, "\r\n") },
	"lfList":   func(items []string) string { return strings.Join(items, "\n") },
	"comma":    func(items []string) string { return strings.Join(items, ",") },
	"tab":      func(items []string) string { return strings.Join(items, "\t") },
}

func xmlOf(items []string, indent string) string {
	var b strings.Builder
	b.WriteString(`<ArrayOfstring xmlns="http://schemas.microsoft.com/2003/10/Serialization/Arrays">`)
	for _, item := range items {
		b.WriteString(indent + "<string>" + strings.NewReplacer("&", "&amp;", "<", "&lt;").Replace(item) + "</string>")
	}
	return b.String() + indent + "</ArrayOfstring>"
}

func parseList(body []byte) ([]string, error) {
	var items []string
	err := readList(context.Background(), bytes.NewReader(body), false, transport.Redactor{}, func(e ListedManifest) error {
		items = append(items, e.Name)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return items, nil
}

func parseEntries(body []byte) ([]ListedManifest, error) {
	return readManifests(context.Background(), bytes.NewReader(body), transport.Redactor{})
}

func TestParseListReadsEveryFormat(t *testing.T) {
	lists := map[string][]string{
		"releases":              {"2026.10", "2026.09", "2025.12"},
		"single release":        {"2026.10"},
		"links":                 {"http://h.example/Download/Data/2026.10/a.dat/?ID=K%2F1&x=2", "https://h.example/Download/Product/2026.10/p?ID=K"},
		"single link":           {"https://h.example/Download/Data/2026.10/a.dat?ID=K"},
		"links with commas":     {"https://h.example/Download/Data/2026.10/a,b,c.dat?ID=K", "https://h.example/Download/Data/2026.10/,.dat?ID=K", "https://h.example/Download/Data/2026.10/a,,b?x=1,2"},
		"single link, commas":   {"https://h.example/Download/Data/2026.10/a,b.dat?ID=K"},
		"names beyond ASCII":    {"dq_ünï", "数据"},
		"none":                  {},
		"one letter":            {"a"},
		"words that JSON knows": {"nullable", "truest"},
	}
	for listName, items := range lists {
		for format, write := range wire {
			for _, around := range []struct{ before, after string }{{"", ""}, {"", "\n"}, {"", "\r\n"}, {"\ufeff", ""}, {"\ufeff", "\r\n\r\n"}, {" \n", " "}} {
				got, err := parseList([]byte(around.before + write(items) + around.after))
				if err != nil || !slices.Equal(items, got) {
					t.Errorf("%s as %s, between %q and %q: %q, %v", listName, format, around.before, around.after, got, err)
				}
			}
		}
	}
}

func TestListsFromAServerThatIgnoresFormat(t *testing.T) {
	e := startEmulator(t)
	c := connect(t, e.URL())
	links := []string{"http://h/Download/Data/2026.10/a,b.dat/?ID=K", "http://h/Download/Library/LINUX/GCC48/64BIT/2026.10/l.so?ID=K"}
	for format, write := range wire {
		e.ClearFaults()
		e.AddFault(emulator.Fault{Kind: emulator.KindBody, Path: "/Manifest/*", Body: write(links)})
		e.AddFault(emulator.Fault{Kind: emulator.KindBody, Path: "/ManifestReleases/*", Body: write([]string{"2026.10"})})
		e.AddFault(emulator.Fault{Kind: emulator.KindBody, Path: "/ManifestList/*", Body: write([]string{"dq_a", "dq_b"})})
		e.AddFault(emulator.Fault{Kind: emulator.KindBody, Path: "/SHA1/*", Body: write([]string{strings.Repeat("0A", 20)})})
		list, err := c.Manifest(t.Context(), "2026.10", "m", nil)
		if err != nil {
			t.Errorf("%s: %v", format, err)
			continue
		}
		if refs := slices.Collect(list.All()); len(refs) != 2 || refs[0].Name() != "a,b.dat" || refs[1].Parts().Compiler != "GCC48" {
			t.Errorf("%s: %v, %v", format, refs, err)
		}
		if ids, _, _, err := c.ManifestReleases(t.Context(), "m", Validators{}); err != nil || !slices.Equal(ids, []string{"2026.10"}) {
			t.Errorf("%s: %v, %v", format, ids, err)
		}
		if entries, err := c.ManifestList(t.Context(), "2026.10"); err != nil || !slices.Equal(entries, []ListedManifest{{Name: "dq_a"}, {Name: "dq_b"}}) {
			t.Errorf("%s: %v, %v", format, entries, err)
		}
		if digest, err := c.Hash(t.Context(), manifest.SHA1, dataRef); err != nil || digest.Hex() != strings.Repeat("0a", 20) {
			t.Errorf("%s: %v, %v", format, digest, err)
		}
	}
}

func TestParseEntriesReadsEveryFormat(t *testing.T) {
	full := []ListedManifest{{"dq_a", "The <a> & b.", "https://h/Manifest/2026.08/dq_a/?ID=K"}, {Name: "dq_b"}}
	tests := map[string]struct {
		body string
		want []ListedManifest
	}{
		"objects":          {`[{"manifestName":"dq_a","description":"The <a> & b.","url":"https://h/Manifest/2026.08/dq_a/?ID=K","more":[1]},{"manifestName":"dq_b","description":null}]`, full},
		"other case":       {`[{"ManifestName":"dq_a","DESCRIPTION":"The <a> & b.","Url":"https://h/Manifest/2026.08/dq_a/?ID=K"},{"manifestname":"dq_b"}]`, full},
		"XML":              {`<ArrayOfManifest><Manifest><manifestName>dq_a</manifestName><description>The &lt;a&gt; &amp; b.</description><url>https://h/Manifest/2026.08/dq_a/?ID=K</url></Manifest><Manifest><manifestName>dq_b</manifestName></Manifest></ArrayOfManifest>`, full},
		"XML with a mark":  {"\ufeff<?xml version=\"1.0\"?>\n<a>\n <m><manifestName>dq_b</manifestName>\n </m>\n</a>\n", full[1:]},
		"XML names":        {"<a><s>dq_a</s><s> dq_b </s></a>", []ListedManifest{{Name: "dq_a"}, {Name: "dq_b"}}},
		"no object":        {"[]", []ListedManifest{}},
		"names in JSON":    {`["dq_a"]`, []ListedManifest{{Name: "dq_a"}}},
		"names in lines":   {"dq_a\r\ndq_b\r\n", []ListedManifest{{Name: "dq_a"}, {Name: "dq_b"}}},
		"names, comma":     {"dq_a,dq_b", []ListedManifest{{Name: "dq_a"}, {Name: "dq_b"}}},
		"empty":            {"", []ListedManifest{}},
		"an empty XML":     {"<a/>", []ListedManifest{}},
		"a name with dots": {`[{"manifestName":"a..b c"}]`, []ListedManifest{{Name: "a..b c"}}},
	}
	for name, tt := range tests {
		got, err := parseEntries([]byte(tt.body))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	for body, want := range map[string]refusal.Reason{
		`[{"manifestName":""}]`:            refusal.BadShape,
		`[{"value":1}]`:                    refusal.BadShape,
		`[null]`:                           refusal.BadShape,
		`[{"manifestName":5}]`:             refusal.BadShape,
		`{"manifestName":"a"}`:             refusal.BadShape,
		`null`:                             refusal.BadShape,
		`<a>text<s>a</s></a>`:              refusal.BadShape,
		`<a><s></s></a>`:                   refusal.BadShape,
		"[{\"manifestName\":\"a\xff\"}]":   refusal.BadShape,
		`[{"manifestName":"../a"}]`:        refusal.BadName,
		`[{"manifestName":"a\u001b[31m"}]`: refusal.BadName,
		`["a","."]`:                        refusal.BadName,
		`<a><s>a/b</s></a>`:                refusal.BadName,
	} {
		if got, err := parseEntries([]byte(body)); refusal.ReasonOf(err) != want || got != nil {
			t.Errorf("%s: %v, %v", body, got, err)
		}
	}
}

func TestParseMetadataReadsEveryForm(t *testing.T) {
	full := Metadata{FileName: "a.dat", Release: "2026.10", Size: 9959574360, Details: manifest.Metadata{
		Members: []manifest.Member{{Name: "BuildDate", Value: "2026-10"}, {Name: "OS", Value: "LINUX"}},
	}}
	got, err := parseMetadata([]byte("\ufeff" + `{"FileName":"a.dat","Release":"2026.10","FileSize":"9959574360","MD5":"m","SHA1":"s","SHA256":"S","BuildDate":"2026-10","OS":"LINUX"}` + "\r\n"))
	if diff := cmp.Diff(full, got); diff != "" || err != nil {
		t.Errorf("as the service writes it: %v %s", err, diff)
	}
	got, err = parseMetadata([]byte(`{"filename":"a.dat","RELEASE":"2026.10","fileSize":9959574360,"md5":"m","Sha1":"s","sha256":"S","BuildDate":"2026-10","OS":"LINUX"}`))
	if diff := cmp.Diff(full, got); diff != "" || err != nil {
		t.Errorf("in other letters, number as number: %v %s", err, diff)
	}
	got, err = parseMetadata([]byte(`{"x":null,"y":1.50,"z":true,"a":[1, {"b":"c"}],"Release":7,"FileName":null}`))
	want := Metadata{Release: "7", Size: -1, Details: manifest.Metadata{
		Members: []manifest.Member{{Name: "a", Value: `[1, {"b":"c"}]`}, {Name: "y", Value: "1.50"}, {Name: "z", Value: "true"}},
	}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("odd values: %v %s", err, diff)
	}
	sum := strings.Repeat("0a", 32)
	got, err = parseMetadata([]byte(`{"Z":"z","BuildNumber":"7","a b":"no name","big":"` + strings.Repeat("x", manifest.MaxMembers) + `","SHA256":"` + sum + `","md5":"` + sum[:32] + `","SHA1":"` + sum[:40] + `"}`))
	want = Metadata{Size: -1, SHA256: digestOf(manifest.SHA256, sum), Details: manifest.Metadata{
		MD5: digestOf(manifest.MD5, sum[:32]), SHA1: digestOf(manifest.SHA1, sum[:40]),
		Members: []manifest.Member{{Name: "BuildNumber", Value: "7"}, {Name: "Z", Value: "z"}},
	}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("digests and unknown members: %v %s", err, diff)
	}
	for value, want := range map[string]int64{
		`"0"`: 0, `0`: 0, `" 12 "`: 12, `"1125899906842624"`: maxSize, `1125899906842624`: maxSize,
		`"1125899906842625"`: -1, `"-1"`: -1, `-1`: -1, `"9223372036854775808"`: -1, `99999999999999999999`: -1, `1e400`: -1, `-1e400`: -1,
		`"1.5"`: -1, `1.5`: -1, `"0x10"`: -1, `"1_000"`: -1, `"1,000"`: -1, `""`: -1, `null`: -1, `true`: -1, `[]`: -1, `"NaN"`: -1,
	} {
		got, err := parseMetadata([]byte(`{"FileName":"a","FileSize":` + value + `}`))
		if err != nil || got.Size != want || got.FileName != "a" {
			t.Errorf("size %s: %d, %v", value, got.Size, err)
		}
	}
	if got, err := parseMetadata([]byte("{}")); err != nil || got.Size != -1 {
		t.Errorf("without any key: %+v, %v", got, err)
	}
	for _, body := range []string{"", "null", "[]", `"x"`, "5", "<html>", `{"a":`, `{"a":1}x`, "{\"a\":\"\xff\"}"} {
		if _, err := parseMetadata([]byte(body)); refusal.ReasonOf(err) != refusal.BadShape {
			t.Errorf("%q: %v", body, err)
		}
	}
}

func TestParseHashReadsEveryForm(t *testing.T) {
	length := map[manifest.Algorithm]int{manifest.MD5: 32, manifest.SHA1: 40, manifest.SHA256: 64}
	for algorithm, n := range length {
		hex := strings.Repeat("0aF", n)[:n]
		want := strings.ToLower(algorithm.String() + ":" + hex)
		for _, body := range []string{
			hex, `"` + hex + `"`, `["` + hex + `"]`, hex + "\n", "\ufeff" + hex + "\r\n", " \"" + strings.ToUpper(hex) + "\"\n",
			`<string xmlns="http://schemas.microsoft.com/2003/10/Serialization/">` + hex + `</string>`,
			"<?xml version=\"1.0\"?>\n<string>\n" + hex + "\n</string>\n", "<a><string>" + hex + "</string></a>",
		} {
			if got, err := parseHash(algorithm, []byte(body)); err != nil || got.String() != want {
				t.Errorf("%s of %q: %v, %v", algorithm, body, got, err)
			}
		}
		for _, body := range []string{
			"", "null", `""`, "[]", "{}", "5", hex[1:], hex + "0", hex[1:] + "g", hex + " " + hex, hex + "\n" + hex, hex + "," + hex,
			`["` + hex + `","` + hex + `"]`, `[["` + hex + `"]]`, "invalid hash type", "invalidLicense", "0x" + hex[2:], hex[:n-2] + " 0",
			`{"hash":"` + hex + `"}`, "<html>" + hex + "<p></html>", "<a>" + hex + "<b/></a>", "x<string>" + hex + "</string>", strings.Repeat("０", n),
		} {
			if got, err := parseHash(algorithm, []byte(body)); refusal.ReasonOf(err) != refusal.BadShape || got != (manifest.Digest{}) {
				t.Errorf("%s of %q: %v, %v", algorithm, body, got, err)
			}
		}
		for other, m := range length {
			if _, err := parseHash(other, []byte(hex)); (err == nil) != (m == n) {
				t.Errorf("a %s as %s: %v", algorithm, other, err)
			}
		}
	}
}

// refusedOr fails the test when err is not a refusal of a parser.
func refusedOr(t *testing.T, err error) (ok bool) {
	t.Helper()
	if reason := refusal.ReasonOf(err); err != nil && reason != refusal.BadShape && reason != refusal.BadName {
		t.Fatalf("%v has reason %q", err, reason)
	}
	if err != nil && (len(err.Error()) > 2000 || !utf8.ValidString(err.Error())) {
		t.Fatalf("text of the error: %q", err)
	}
	return err == nil
}

func FuzzParseList(f *testing.F) {
	f.Fuzz(func(t *testing.T, body []byte) {
		items, err := parseList(body)
		if !refusedOr(t, err) {
			if items != nil {
				t.Fatal("got items and an error")
			}
			return
		}
		total := 0
		for _, item := range items {
			total += len(item)
			if !utf8.ValidString(item) {
				t.Fatalf("item %q", item)
			}
		}
		if total > 6*len(body) { // U+FFFD for a lone surrogate is no longer than its escape
			t.Fatalf("%d bytes out of %d", total, len(body))
		}
		if again, err := parseList([]byte(wire["json"](append([]string{}, items...)))); err != nil || len(items) > 0 && !slices.Equal(items, again) {
			t.Fatalf("%q, written and read again: %q, %v", items, again, err)
		}
		for _, space := range []string{"\n", "\r\n", " "} {
			again, err := parseList([]byte("\ufeff" + string(trim(body)) + space))
			if err != nil || !slices.Equal(items, again) {
				t.Fatalf("with a mark and %q: %q, %v", space, again, err)
			}
		}
	})
}

func FuzzParseEntries(f *testing.F) {
	f.Fuzz(func(t *testing.T, body []byte) {
		entries, err := parseEntries(body)
		if !refusedOr(t, err) {
			return
		}
		for _, entry := range entries {
			must(t, manifest.CheckSegment(entry.Name))
			if !utf8.ValidString(entry.Description + entry.URL) {
				t.Fatalf("%+v", entry)
			}
		}
		written, err := json.Marshal(entries)
		must(t, err)
		if again, err := parseEntries(written); err != nil || !slices.Equal(entries, again) {
			t.Fatalf("%+v, written and read again: %+v, %v", entries, again, err)
		}
	})
}

func FuzzParseMetadata(f *testing.F) {
	f.Fuzz(func(t *testing.T, body []byte) {
		meta, err := parseMetadata(body)
		if !refusedOr(t, err) {
			return
		}
		if meta.Size < -1 || meta.Size > maxSize {
			t.Fatalf("size %d", meta.Size)
		}
		if !utf8.ValidString(meta.FileName + meta.Release) {
			t.Fatalf("%+v", meta)
		}
	})
}

func FuzzParseHash(f *testing.F) {
	algorithms := []manifest.Algorithm{manifest.MD5, manifest.SHA1, manifest.SHA256}
	length := []int{32, 40, 64}
	f.Fuzz(func(t *testing.T, kind byte, body []byte) {
		i := int(kind) % len(algorithms)
		digest, err := parseHash(algorithms[i], body)
		if !refusedOr(t, err) {
			if digest != (manifest.Digest{}) {
				t.Fatal("got a digest and an error")
			}
			return
		}
		if digest.Algorithm != algorithms[i] || len(digest.Hex()) != length[i] || strings.Trim(digest.Hex(), "0123456789abcdef") != "" {
			t.Fatalf("%+v", digest)
		}
		for _, form := range []string{"%s", "%s\r\n", `"%s"`, "<string>%s</string>"} {
			if again, err := parseHash(algorithms[i], fmt.Appendf(nil, form, strings.ToUpper(digest.Hex()))); err != nil || again != digest {
				t.Fatalf("written as %s and read again: %v, %v", form, again, err)
			}
		}
	})
}

func digestOf(algorithm manifest.Algorithm, hex string) manifest.Digest {
	digest, _ := manifest.ParseDigest(algorithm, hex)
	return digest
}
