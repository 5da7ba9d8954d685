package trust

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

const (
	header = "syncd-trust/v1"

	maxKeys    = 32
	maxOrigin  = 255
	maxVersion = 1_000_000

	// MaxText is the largest trust text in bytes.
	MaxText = 64 << 10
)

// Text is one version of the trust in an origin. The zero value is none.
type Text struct {
	Origin    string // a name for the data of one publisher, such as mirror.example.net
	Version   int    // from 1
	Threshold int    // how many of Keys must sign
	Keys      []Key
	Expires   time.Time // to the second, in UTC

	bytes []byte // as signed
}

// New returns the unsigned first version.
func New(origin string, threshold int, expires time.Time, keys ...Key) (Text, error) {
	return Text{Origin: origin, Version: 1, Threshold: threshold, Keys: keys, Expires: expires.UTC().Truncate(time.Second)}.sealed()
}

// sealed checks a text that was made here, and gives it its bytes.
func (t Text) sealed() (Text, error) {
	t.Keys = slices.Clone(t.Keys)
	slices.SortFunc(t.Keys, func(a, b Key) int { return strings.Compare(a.text, b.text) })
	t.bytes = []byte(t.body())
	return ParseText(t.bytes)
}

// Bytes is the text with its signatures.
func (t Text) Bytes() []byte { return slices.Clone(t.bytes) }

// Fingerprint is the SHA-256 of Bytes. People compare that of the first version.
func (t Text) Fingerprint() string {
	sum := sha256.Sum256(t.bytes)
	return hex.EncodeToString(sum[:])
}

// Says is true for a text that says the same, whoever signed it.
func (t Text) Says(other Text) bool { return t.body() == other.body() }

// HasExpired is true when the text may not be believed at now, by a clock that may be wrong
// by Skew.
func (t Text) HasExpired(now time.Time) bool { return now.Add(-Skew).After(t.Expires) }

// Key returns the key with that name or text.
func (t Text) Key(nameOrText string) (Key, bool) {
	i := slices.IndexFunc(t.Keys, func(k Key) bool { return k.text == nameOrText || k.Name() == nameOrText })
	if i < 0 {
		return Key{}, false
	}
	return t.Keys[i], true
}

// SignersOf returns the keys of t that signed a text, in the order of t.
func (t Text) SignersOf(text []byte) []Key {
	return slices.DeleteFunc(slices.Clone(t.Keys), func(k Key) bool { return !k.signed(text) })
}

// body is the text without signatures, in its only form.
func (t Text) body() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\norigin %s\nversion %d\nthreshold %d\nexpires %s\n", header, t.Origin, t.Version, t.Threshold, t.Expires.Format(time.RFC3339))
	for _, k := range t.Keys {
		fmt.Fprintf(&b, "key %s\n", k.text)
	}
	return b.String()
}

// ParseText reads one version. It checks no signature.
func ParseText(text []byte) (Text, error) {
	t, err := parseText(text)
	if err != nil {
		return Text{}, fmt.Errorf("trust text: %w", err)
	}
	return t, nil
}

func parseText(text []byte) (Text, error) {
	if len(text) > MaxText {
		return Text{}, fmt.Errorf("%d bytes, at most %d are allowed", len(text), MaxText)
	}
	body := bodyOf(text)
	if len(text) > len(body) && !isSigned(text) {
		return Text{}, errors.New("malformed signatures")
	}
	t := Text{bytes: slices.Clone(text)}
	fields := lines{rest: body}
	fields.line(header)
	t.Origin = fields.value("origin")
	t.Version = fields.number("version")
	t.Threshold = fields.number("threshold")
	t.Expires = fields.time("expires")
	for fields.err == nil && fields.rest != "" && len(t.Keys) <= maxKeys {
		key, err := ParseKey(fields.value("key"))
		if fields.err == nil {
			fields.err = err
		}
		t.Keys = append(t.Keys, key)
	}
	if fields.err != nil {
		return Text{}, fields.err
	}
	if err := t.check(); err != nil {
		return Text{}, err
	}
	if t.body() != body {
		return Text{}, errors.New("not in its usual form")
	}
	return t, nil
}

func (t Text) check() error {
	switch {
	case t.Version < 1 || t.Version > maxVersion:
		return fmt.Errorf("version %d", t.Version)
	case len(t.Keys) == 0 || len(t.Keys) > maxKeys:
		return fmt.Errorf("%d keys, expected 1 to %d", len(t.Keys), maxKeys)
	case t.Threshold < 1 || t.Threshold > len(t.Keys):
		return fmt.Errorf("threshold %d of %d keys", t.Threshold, len(t.Keys))
	}
	for i, k := range t.Keys {
		if i > 0 && t.Keys[i-1].text >= k.text {
			return errors.New("its keys are not sorted")
		}
		same := func(other Key) bool { return other.base64() == k.base64() || other.Name() == k.Name() }
		if slices.ContainsFunc(t.Keys[:i], same) {
			return fmt.Errorf("key %s is there twice, by its name or by its bytes", k.Name())
		}
	}
	return CheckOrigin(t.Origin)
}

// CheckOrigin requires one printable word.
func CheckOrigin(origin string) error {
	if origin == "" || len(origin) > maxOrigin || strings.ContainsFunc(origin, func(c rune) bool { return !unicode.IsGraphic(c) || unicode.IsSpace(c) }) {
		return fmt.Errorf("origin %.80q: use a word such as mirror.example.net", origin)
	}
	return nil
}

// lines reads the lines of a body, each a word and a value. The first error stays.
type lines struct {
	rest string
	err  error
}

func (l *lines) line(want string) {
	line, rest, found := strings.Cut(l.rest, "\n")
	if l.err == nil && (!found || line != want) {
		l.err = fmt.Errorf("expected the line %q", want)
	}
	l.rest = rest
}

func (l *lines) value(word string) string {
	line, rest, found := strings.Cut(l.rest, "\n")
	value, isWord := strings.CutPrefix(line, word+" ")
	if l.err == nil && (!found || !isWord) {
		l.err = fmt.Errorf("expected a line with %q and a value", word)
	}
	l.rest = rest
	return value
}

func (l *lines) number(word string) int {
	n, err := strconv.Atoi(l.value(word))
	if l.err == nil && err != nil {
		l.err = fmt.Errorf("%s is not a number", word)
	}
	return n
}

func (l *lines) time(word string) time.Time {
	value := l.value(word)
	at, err := time.Parse(time.RFC3339, value)
	if l.err == nil && (err != nil || !strings.HasSuffix(value, "Z")) {
		l.err = fmt.Errorf("%s is not a time in UTC", word)
	}
	return at.UTC()
}
