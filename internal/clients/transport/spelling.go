package transport

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"slices"
	"strings"
	"sync"
	"unicode/utf16"
)

// secret is a text to find, character by character.
type secret []character

type character struct {
	spellings []string  // sorted
	begins    [256]bool // true for the first byte of each spelling
}

// secretsOf returns the texts that stand for a Customer ID: the ID, in any case if it is
// long, and its base64 forms.
func secretsOf(customerID string) []secret {
	long := isLong(customerID)
	secrets := []secret{newSecret(customerID, func(c string) []string {
		spellings := spellingsOf(c)
		for _, other := range []string{strings.ToLower(c), strings.ToUpper(c)} {
			if long && other != c {
				spellings = append(spellings, spellingsOf(other)...)
			}
		}
		return spellings
	})}
	for _, form := range base64Forms(customerID) {
		secrets = append(secrets, newSecret(form, base64Spellings))
	}
	return secrets
}

func newSecret(text string, spellings func(character string) []string) secret {
	var s secret
	for c := range strings.SplitSeq(text, "") {
		next := character{spellings: spellings(c)}
		slices.Sort(next.spellings)
		next.spellings = slices.Compact(next.spellings)
		for _, spelling := range next.spellings {
			next.begins[spelling[0]] = true
		}
		s = append(s, next)
	}
	return s
}

// base64Forms returns the base64 of a text: of the text alone, and what stays the same
// wherever a longer text holds it, such as user:password. These parts are left out if
// they are so short that other text holds them by accident.
func base64Forms(text string) []string {
	forms := []string{base64.RawStdEncoding.EncodeToString([]byte(text))}
	for before := range 3 { // base64 encodes groups of 3 bytes
		encoded := base64.RawStdEncoding.EncodeToString(append(make([]byte, before), text...))
		first, last := (before*8+5)/6, (before+len(text))*8/6 // characters that hold bits of the text alone
		if last-first >= minLong+2 {
			forms = append(forms, encoded[first:last])
		}
	}
	return forms
}

// base64Spellings returns the spellings of a character in both alphabets of base64.
func base64Spellings(c string) []string {
	switch c {
	case "+":
		return append(spellingsOf(c), "-")
	case "/":
		return append(spellingsOf(c), "_")
	}
	return []string{c}
}

// outerEncoders write a text into a URL, JSON, XML or HTML as programs do. Each encodes
// every character independently of the others.
var outerEncoders = []func(string) string{
	unchanged,
	url.QueryEscape, url.PathEscape, percentLower,
	quoteJSON, quoted.Replace, quotedSlash.Replace, eachUTF16(`\u%04x`), eachUTF16(`\u%04X`),
	html.EscapeString, xmlNames.Replace,
	dotNetJSON.Replace, dotNetHTML.Replace,
}

// encoders are outerEncoders and those that escape every character.
var encoders = append([]func(string) string{
	eachByte("%%%02x"), eachByte("%%%02X"), eachByte(`\x%02x`), eachByte(`\x%02X`),
	eachRune("&#%d;"), eachRune("&#%03d;"),
	eachRune("&#x%x;"), eachRune("&#x%X;"), eachRune("&#X%X;"), eachRune("&#x%04x;"), eachRune("&#x%06x;"),
}, outerEncoders...)

var (
	quoted      = strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	quotedSlash = strings.NewReplacer(`\`, `\\`, `"`, `\"`, `/`, `\/`)
	xmlNames    = strings.NewReplacer(`&`, "&amp;", `<`, "&lt;", `>`, "&gt;", `"`, "&quot;", `'`, "&apos;")
	dotNetJSON  = strings.NewReplacer(`\`, `\\`, `"`, `\u0022`, `&`, `\u0026`, `'`, `\u0027`, `+`, `\u002B`, `<`, `\u003C`, `>`, `\u003E`, "`", `\u0060`)
	dotNetHTML  = strings.NewReplacer(`&`, "&amp;", `<`, "&lt;", `>`, "&gt;", `"`, "&quot;", `'`, "&#x27;", `+`, "&#x2B;", "`", "&#x60;")
)

// spellingsOf returns the texts that can stand for a character: encoded once or twice,
// and then possibly quoted as JSON, as in the log and in the output of commands. To
// cover a further spelling, add an encoder. The characters of an ID may differ in their
// spelling, because encoders differ in the characters that they leave unchanged.
//
// Two kinds of spellings are not covered: three foreign encoders over each other, and an
// encoder that escapes only parts of another encoder's escape (`%4&#66;` for K). No
// program writes them by itself, and a provider that does so on purpose knows the
// Customer ID anyway.
//
// They are computed once for each character of the IDs of this process.
func spellingsOf(character string) []string {
	if known, ok := knownSpellings.Load(character); ok {
		return slices.Clone(known.([]string))
	}
	twice := encode(encode([]string{character}, encoders), outerEncoders)
	all := encode(twice, []func(string) string{unchanged, quoted.Replace})
	knownSpellings.Store(character, slices.Clone(all))
	return all
}

// knownSpellings has a sorted []string for each character that was asked for.
var knownSpellings sync.Map

// encode returns what each encoder makes of each text, sorted and without duplicates.
func encode(texts []string, encoders []func(string) string) []string {
	var encoded []string
	for _, text := range texts {
		for _, e := range encoders {
			encoded = append(encoded, e(text))
		}
	}
	slices.Sort(encoded)
	return slices.Compact(encoded)
}

func unchanged(s string) string { return s }

func eachByte(format string) func(string) string {
	return func(s string) string { return each([]byte(s), format) }
}

func eachRune(format string) func(string) string {
	return func(s string) string { return each([]rune(s), format) }
}

func eachUTF16(format string) func(string) string {
	return func(s string) string { return each(utf16.Encode([]rune(s)), format) }
}

func each[T byte | rune | uint16](units []T, format string) string {
	var b strings.Builder
	for _, unit := range units {
		fmt.Fprintf(&b, format, unit)
	}
	return b.String()
}

// percentLower is url.QueryEscape in lower-case hex.
func percentLower(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if escaped := url.QueryEscape(s[i : i+1]); escaped == s[i:i+1] {
			b.WriteString(escaped)
		} else {
			b.WriteString(strings.ToLower(escaped))
		}
	}
	return b.String()
}

// quoteJSON is the text within the quotes of a JSON string, as Go writes it.
func quoteJSON(s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		return s // a string always has a JSON form
	}
	return string(text[1 : len(text)-1])
}
