package transport

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"html"
	"net/url"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"pgregory.net/rapid"

	"syncd/internal/manifest/refusal"
)

// testID has characters that each encoder escapes differently.
const testID = "K3Y/with+special=chars&%"

var testRedactor = NewRedactor(testID)

func percent(s, format string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		fmt.Fprintf(&b, format, c)
	}
	return b.String()
}

func jsonAll(s string) string {
	var b strings.Builder
	for _, c := range utf16.Encode([]rune(s)) {
		fmt.Fprintf(&b, `\u%04x`, c)
	}
	return b.String()
}

func jsonText(t testing.TB, s string) string {
	t.Helper()
	text, err := json.Marshal(s)
	must(t, err)
	return string(text[1 : len(text)-1])
}

func xmlText(t testing.TB, s string) string {
	t.Helper()
	var b bytes.Buffer
	must(t, xml.EscapeText(&b, []byte(s)))
	return b.String()
}

func TestRedactorRemovesEverySpellingWhole(t *testing.T) {
	ids := []string{testID, "plainid0123456789", "with some spaces and \"quotes\"", `back\slash\`, "%2541%41%", "a&amp;b&&c", "+ +/ +", "ünï-cödé-𝕏", "é"}
	for _, id := range ids {
		r := NewRedactor(id)
		rows := map[string]string{
			"plain":                    id,
			"query":                    url.QueryEscape(id),
			"path":                     url.PathEscape(id),
			"lower case":               percent(id, "%%%02x"),
			"upper case":               percent(id, "%%%02X"),
			"query twice":              url.QueryEscape(url.QueryEscape(id)),
			"all, twice":               url.QueryEscape(percent(id, "%%%02x")),
			"query of path":            url.QueryEscape(url.PathEscape(id)),
			"JSON":                     jsonText(t, id),
			"JSON, all escaped":        jsonAll(id),
			"JSON, upper case":         strings.ReplaceAll(strings.ToUpper(jsonAll(id)), `\U`, `\u`),
			"JSON, slashes escaped":    strings.ReplaceAll(jsonText(t, id), "/", `\/`),
			"JSON of query":            jsonText(t, url.QueryEscape(id)),
			"JSON, all, of query":      jsonAll(url.QueryEscape(id)),
			"JSON of query twice":      jsonText(t, url.QueryEscape(url.QueryEscape(id))),
			"JSON in JSON":             jsonText(t, jsonText(t, id)),
			"XML":                      xmlText(t, id),
			"HTML":                     html.EscapeString(id),
			"XML of query":             xmlText(t, url.QueryEscape(id)),
			"JSON of HTML":             jsonText(t, html.EscapeString(id)),
			"query of HTML":            url.QueryEscape(html.EscapeString(id)),
			"XML numbers":              entities(id, "&#%d;"),
			"XML numbers, hex":         entities(id, "&#x%x;"),
			"XML numbers, upper case":  entities(id, "&#X%X;"),
			"XML numbers, with zeros":  entities(id, "&#x%06x;"),
			"JSON of XML numbers":      jsonText(t, entities(id, "&#%d;")),
			"Go":                       goText(id),
			"Go, of query":             goText(url.QueryEscape(id)),
			".NET JSON of JSON":        dotNetJSON.Replace(quoteMore(id)),
			".NET HTML of query":       dotNetHTML.Replace(url.QueryEscape(id)),
			"first half encoded":       url.QueryEscape(firstHalf(id)) + id[len(firstHalf(id)):],
			"second half encoded":      firstHalf(id) + url.QueryEscape(id[len(firstHalf(id)):]),
			"every other character so": alternate(id),
		}
		for name, spelling := range rows {
			for _, around := range [][2]string{{"", ""}, {"id=", "&x=1"}, {`{"a":"`, `"}`}, {"<url>", "</url>"}, {"%", " "}, {`\`, "\n"}, {"&", ";"}} {
				text := around[0] + spelling + around[1]
				got := r.String(text)
				if want := around[0] + redacted + around[1]; got != want {
					// An escape character in front may be part of a spelling.
					if alone := redacted + around[1]; got != alone || len(around[0]) > 1 {
						t.Errorf("%s: %s of %q gives %q, want %q", id, name, text, got, want)
					}
				}
			}
		}
	}
}

func goText(s string) string {
	quoted := fmt.Sprintf("%q", s)
	return quoted[1 : len(quoted)-1]
}

func firstHalf(s string) string {
	at := len(s) / 2
	for !utf8.RuneStart(s[at]) {
		at--
	}
	return s[:at]
}

func entities(s, format string) string {
	var b strings.Builder
	for _, c := range s {
		fmt.Fprintf(&b, format, c)
	}
	return b.String()
}

func alternate(s string) string {
	var b strings.Builder
	for i, c := range []rune(s) {
		switch i % 4 {
		case 0:
			b.WriteString(jsonAll(string(c)))
		case 1:
			b.WriteString(percent(string(c), "%%%02x"))
		case 2:
			fmt.Fprintf(&b, "&#%d;", c)
		default:
			b.WriteString(percent(string(c), "%%25%02X"))
		}
	}
	return b.String()
}

func TestRedactorRemovesEveryOccurrence(t *testing.T) {
	r := NewRedactor("aXa")
	for text, want := range map[string]string{
		"aXa":             redacted,
		"aXaaXa":          redacted + redacted,
		"aXaXa.":          redacted + ".", // overlapping occurrences
		"aXaXaXaXb":       redacted + "Xb",
		"-aXa-%61Xa-":     "-" + redacted + "-" + redacted + "-",
		"aXaX":            redacted + "X",
		"%61X%61aX":       redacted + "aX",
		"aX\x00a aX a XA": "aX\x00a aX a XA",
	} {
		if got := r.String(text); got != want {
			t.Errorf("%q gives %q, want %q", text, got, want)
		}
		if got := string(r.Bytes([]byte(text))); got != want {
			t.Errorf("%q as bytes gives %q, want %q", text, got, want)
		}
	}
}

func TestRedactorFindsTheIDBehindLongRuns(t *testing.T) {
	r := NewRedactor("K3Y/id")
	for _, spelling := range []string{`K3Y/id`, `\u004b3Y\/id`, `\\u004b3Y/id`} {
		for _, length := range []int{1, 15, 16, 17, 40, 1 << 16} {
			run := strings.Repeat(`\`, length)
			if got := r.String(run + spelling); strings.Contains(got, "3Y") || len(got) < length-8 {
				t.Errorf("%d backslashes before %s: %d bytes", length, spelling, len(got))
			}
		}
	}
}

func TestRedactorLeavesOtherTextAlone(t *testing.T) {
	texts := []string{
		"", "%", "%%", `\`, `\u`, `\u00`, "&", "&#", "&#x;", "&#;", "%2", "%zz", "K3Y", testID[:len(testID)-1],
		url.QueryEscape(testID[1:]), "\xff\xfe", "K3Y/with special=chars&%",
		"https://releases.example.net/Manifest/2026.10/dq?id=OTHER%2FKEY", strings.Repeat("%", 100), strings.Repeat(`\`, 100) + strings.Repeat("&amp;", 50),
	}
	for _, text := range texts {
		b := []byte(text)
		if got := testRedactor.Bytes(b); string(got) != text || len(b) > 0 && &got[0] != &b[0] {
			t.Errorf("%q became %q, or was copied", text, got)
		}
		if got := (Redactor{}).String(text + testID); got != text+testID {
			t.Errorf("the zero value changed %q", text)
		}
	}
	if NewRedactor("").Contains("anything") {
		t.Error("an empty Customer ID was found")
	}
}

// spelled draws up to two encoders for each character of id. The second one encodes the
// whole output of the first.
func spelled(draw func(label string, n int) int, id string) string {
	depth := draw("depth", 3)
	var b strings.Builder
	for _, c := range id {
		one := string(c)
		if depth > 0 {
			one = firstEncoders[draw("encoder", len(firstEncoders))](one)
		}
		if depth > 1 {
			one = secondEncoders[draw("encoder over it", len(secondEncoders))](one)
		}
		b.WriteString(one)
	}
	return b.String()
}

var (
	firstEncoders = []func(string) string{
		plain, func(one string) string { return percent(one, "%%%02x") }, func(one string) string { return percent(one, "%%%02X") }, jsonAll,
		func(one string) string { return entities(one, "&#%d;") }, func(one string) string { return entities(one, "&#x%X;") },
		quoteMore, html.EscapeString, url.QueryEscape,
	}
	secondEncoders = []func(string) string{
		plain, url.QueryEscape, func(one string) string { return strings.ReplaceAll(one, "%", "%25") }, jsonAll, quoteMore, goText, html.EscapeString,
	}
)

func plain(one string) string { return one }

// quoteMore quotes as JSON, slashes included.
func quoteMore(s string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, `/`, `\/`).Replace(s)
}

func TestRedactorFindsEachCharacterInItsOwnSpelling(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.SampledFrom([]string{testID, "0123456789abcdef", `q"u\o/t&e% `, "zwölf"}).Draw(t, "id")
		text := spelled(func(label string, n int) int { return rapid.IntRange(0, n-1).Draw(t, label) }, id)
		before, after := rapid.SampledFrom([]string{"", "?id=", "[\""}).Draw(t, "before"), rapid.SampledFrom([]string{"", "\"]", "&x=1", "<"}).Draw(t, "after")
		if got := NewRedactor(id).String(before + text + after); got != before+redacted+after {
			t.Fatalf("%q gives %q", before+text+after, got)
		}
	})
}

// shows is true when text holds id, plain or after up to two standard decoders. It
// shares no code with the Redactor.
func shows(text, id string) bool {
	level := []string{text}
	for range 3 {
		var next []string
		for _, s := range level {
			if strings.Contains(s, id) {
				return true
			}
			if plain, err := url.QueryUnescape(s); err == nil {
				next = append(next, plain)
			}
			if plain, err := url.PathUnescape(s); err == nil {
				next = append(next, plain)
			}
			var fromJSON string
			if json.Unmarshal([]byte(`"`+s+`"`), &fromJSON) == nil {
				next = append(next, fromJSON)
			}
			next = append(next, html.UnescapeString(s))
		}
		slices.Sort(next)
		level = slices.Compact(next)
	}
	return false
}

func FuzzRedact(f *testing.F) {
	f.Add("https://h.example/x?id=", []byte{0}, "&y=1")
	f.Add("", []byte{1, 3, 5, 2, 7, 1, 1, 4, 4}, "")
	f.Add("Referer: %", []byte{2, 1, 2, 3, 4, 5, 6, 7, 8, 0}, "25")
	f.Add(`{"message":"`, []byte{1, 6, 6, 6, 6, 6}, `"}`)
	f.Add("<url>&", []byte{1, 7}, ";</url>")
	f.Add("K3Y%2fwith%2", []byte{}, "K3Y/with+special=chars&")
	r := testRedactor
	f.Fuzz(func(t *testing.T, before string, choices []byte, after string) {
		at := 0
		text := spelled(func(_ string, n int) int {
			if len(choices) == 0 {
				return 0
			}
			at++
			return int(choices[at%len(choices)]) % n
		}, testID)
		all := before + text + after
		got := r.String(all)
		if got == all || !strings.Contains(got, redacted) {
			t.Fatalf("%q was not found in %q", text, all)
		}
		for _, s := range []string{got, r.String(before), r.String(after), r.String(before + after)} {
			if r.Contains(s) || shows(s, testID) {
				t.Fatalf("the Customer ID is still in %q, of %q", s, all)
			}
		}
		if string(r.Bytes([]byte(all))) != got {
			t.Fatal("Bytes and String differ")
		}
		if rest := before + after; !r.Contains(rest) && r.String(rest) != rest {
			t.Fatalf("%q was changed without need", rest)
		}
	})
}

func TestRedactorErrorHidesTheCustomerIDInTheWholeChain(t *testing.T) {
	r := testRedactor
	deep := fmt.Errorf("outer: %w", &hiding{errors.New("at " + testID)})
	refused := refusal.New(refusal.BadShape, "name %q", testID)
	for name, err := range map[string]error{
		"url.Error":      &url.Error{Op: "Get", URL: "https://h.example/?id=" + testID, Err: errStalled},
		"plain":          fmt.Errorf("at %s: %w", testID, errStalled),
		"percent":        fmt.Errorf("at %s: %w", url.QueryEscape(testID), errStalled),
		"below another":  deep,
		"joined":         errors.Join(errStalled, errors.New(testID)),
		"refusal":        refused,
		"wrapped by url": &url.Error{Op: "Get", URL: testID, Err: fmt.Errorf("%s: %w", testID, errStalled)},
	} {
		got := r.Error(err)
		assertNoID(t, name, got)
		if errors.Is(err, errStalled) != errors.Is(got, errStalled) {
			t.Errorf("%s: the cause cannot be told any more", name)
		}
		if refusal.ReasonOf(got) != refusal.ReasonOf(err) {
			t.Errorf("%s: reason %q, was %q", name, refusal.ReasonOf(got), refusal.ReasonOf(err))
		}
	}
	clean := fmt.Errorf("x: %w", errStalled)
	if got := r.Error(clean); got != clean {
		t.Errorf("an error without the Customer ID became %v", got)
	}
	if r.Error(nil) != nil {
		t.Error("redacting nil returned an error")
	}
	if got := r.Error(errors.New(strings.Repeat("é", 1<<20))); len(got.Error()) > maxCause+len("…") || !utf8.ValidString(got.Error()) {
		t.Errorf("an error of %d bytes", len(got.Error()))
	}
}

// hiding is an error that does not print its cause.
type hiding struct{ err error }

func (*hiding) Error() string   { return "hidden" }
func (h *hiding) Unwrap() error { return h.err }

// assertNoID fails the test when err or one of its causes prints the Customer ID with
// any verb.
func assertNoID(t testing.TB, what string, err error) {
	t.Helper()
	if err == nil {
		return
	}
	for _, verb := range []string{"%v", "%+v", "%s", "%q", "%#v"} {
		text := fmt.Sprintf(verb, err)
		if testRedactor.Contains(text) || shows(text, testID) || shows(text, url.QueryEscape(testID)) || strings.Contains(text, "K3Y") {
			t.Errorf("%s: the Customer ID is in %s", what, text)
		}
	}
	switch wrapper := err.(type) {
	case interface{ Unwrap() error }:
		assertNoID(t, what, wrapper.Unwrap())
	case interface{ Unwrap() []error }:
		for _, cause := range wrapper.Unwrap() {
			assertNoID(t, what, cause)
		}
	}
}

func TestPublicURLShowsNeitherQueryNorUser(t *testing.T) {
	u, err := url.Parse("https://user:pass@h.example:8443/a%2Fb/?id=" + url.QueryEscape(testID) + "#" + "frag")
	must(t, err)
	if got := PublicURL(u); got != "https://h.example:8443/a%2Fb/" {
		t.Errorf("got %s", got)
	}
}

func BenchmarkRedactManifest(b *testing.B) {
	line := `"https://releases.example.net/Download/Data/2026.10/some%20file.dat/?ID=` + url.QueryEscape(testID) + `",`
	body := []byte(strings.Repeat(line, 10_000))
	b.SetBytes(int64(len(body)))
	r := testRedactor
	for b.Loop() {
		r.Bytes(body)
	}
}

func BenchmarkRedactWorstCase(b *testing.B) {
	r := testRedactor
	for name, unit := range map[string]string{"percent": "%", "percent25": "%25", "backslash": `\`, "first": "K"} {
		body := []byte(strings.Repeat(unit, 1<<20/len(unit)))
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				r.Bytes(body)
			}
		})
	}
}
