package trust

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"syncd/internal/manifest"
)

var (
	now  = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	ends = now.AddDate(5, 0, 0)
)

// newKey makes a key pair.
func newKey(t testing.TB, name string) *PrivateKey {
	t.Helper()
	secret, public, err := GenerateKey(name)
	if err != nil {
		t.Fatal(err)
	}
	key, err := ParsePrivateKey(secret + "\n")
	if err != nil || key.Public().String() != public.String() {
		t.Fatalf("the key that was made cannot be read: %v, %v", key.Public(), err)
	}
	return key
}

func newKeys(t testing.TB, names ...string) (keys []*PrivateKey) {
	t.Helper()
	for _, name := range names {
		keys = append(keys, newKey(t, name))
	}
	return keys
}

func publics(keys ...*PrivateKey) (list []Key) {
	for _, k := range keys {
		list = append(list, k.Public())
	}
	return list
}

func root(t testing.TB, threshold int, keys ...*PrivateKey) Chain {
	t.Helper()
	text, err := New("mirror.example.net", threshold, ends, publics(keys...)...)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Chain(nil).Add(text)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// next adds a version that signers signed.
func next(t testing.TB, c Chain, change Change, signers ...*PrivateKey) (Chain, error) {
	t.Helper()
	text, err := c.Next(change)
	if err != nil {
		t.Fatal(err)
	}
	if text, err = c.SignedBy(text, signers...); err != nil {
		t.Fatal(err)
	}
	return c.Add(text)
}

func TestAllKeysRotateInSteps(t *testing.T) {
	keys := newKeys(t, "k0", "k1", "k2", "k3", "k4", "k5", "k6", "k7", "k8")
	c := root(t, 1, keys[0])
	for i := 1; i < len(keys); i++ {
		var err error
		change := Change{Add: publics(keys[i]), Remove: publics(keys[i-1])}
		if c, err = next(t, c, change, keys[i-1], keys[i]); err != nil {
			t.Fatal(err)
		}
	}
	read, err := ParseChain(c.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if read.Newest().Version != len(keys) || read.Root().Fingerprint() != c.Root().Fingerprint() || read.Root().Version != 1 {
		t.Errorf("newest version %d of root %s", read.Newest().Version, read.Root().Fingerprint())
	}
	if _, found := read.Newest().Key("k8"); !found || len(read.Newest().Keys) != 1 {
		t.Errorf("keys are %v, want k8 alone", read.Newest().Keys)
	}
}

func TestAVersionNeedsEnoughKeysOfBothVersions(t *testing.T) {
	keys := newKeys(t, "a", "b", "c", "d")
	a, b, c, d := keys[0], keys[1], keys[2], keys[3]
	for name, row := range map[string]struct {
		threshold int
		change    Change
		signers   []*PrivateKey
		want      string // part of the error; "" is accepted
	}{
		"two of the old, two of the new":    {2, Change{Add: publics(d)}, []*PrivateKey{a, b}, ""},
		"one of the old":                    {2, Change{Add: publics(d)}, []*PrivateKey{a, d}, "lacks 1 signatures of keys of version 1"},
		"nobody":                            {1, Change{Add: publics(d)}, nil, "lacks 1 signatures of keys of version 1"},
		"two of the old, which left":        {2, Change{Add: publics(d), Remove: publics(a, b)}, []*PrivateKey{a, b}, "lacks 2 signatures of its own keys"},
		"two of each":                       {2, Change{Add: publics(d), Remove: publics(a, b)}, []*PrivateKey{a, b, c, d}, ""},
		"a higher threshold asks for more":  {1, Change{Threshold: 3}, []*PrivateKey{a, b}, "lacks 1 signatures of its own keys"},
		"a lower threshold asks the old":    {2, Change{Threshold: 1}, []*PrivateKey{a}, "lacks 1 signatures of keys of version 1"},
		"the same key twice is one":         {2, Change{Add: publics(d)}, []*PrivateKey{a, a}, "lacks 1 signatures of keys of version 1"},
		"a later end, and nothing else new": {1, Change{Expires: ends.AddDate(1, 0, 0)}, []*PrivateKey{b}, ""},
	} {
		_, err := next(t, root(t, row.threshold, a, b, c), row.change, row.signers...)
		if got := fmt.Sprint(err); row.want == "" && err != nil || !strings.Contains(got, row.want) {
			t.Errorf("%s: got %q, want %q", name, got, row.want)
		}
	}
}

func TestAForeignKeySignsNoVersion(t *testing.T) {
	keys := newKeys(t, "a", "stranger")
	c := root(t, 1, keys[0])
	text, err := c.Next(Change{Expires: ends.AddDate(1, 0, 0)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.SignedBy(text, keys[1]); err == nil || !strings.Contains(err.Error(), "stranger is in neither version") {
		t.Errorf("got %v", err)
	}
}

func TestTextsHaveOneForm(t *testing.T) {
	keys := newKeys(t, "a", "b")
	good := string(root(t, 2, keys...).Newest().Bytes())
	if _, err := ParseText([]byte(good)); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(good, "\n")
	for name, text := range map[string]string{
		"empty":                 "",
		"another header":        strings.Replace(good, "v1", "v2", 1),
		"no last line feed":     strings.TrimSuffix(good, "\n"),
		"a space more":          strings.Replace(good, "version 1", "version  1", 1),
		"a plus":                strings.Replace(good, "version 1", "version +1", 1),
		"version 0":             strings.Replace(good, "version 1", "version 0", 1),
		"no keys":               strings.Join(lines[:5], "\n") + "\n",
		"threshold of 3":        strings.Replace(good, "threshold 2", "threshold 3", 1),
		"threshold of 0":        strings.Replace(good, "threshold 2", "threshold 0", 1),
		"not in UTC":            strings.Replace(good, "Z\n", "+00:00\n", 1),
		"parts of a second":     strings.Replace(good, "00Z", "00.5Z", 1),
		"keys not sorted":       strings.Join([]string{lines[0], lines[1], lines[2], lines[3], lines[4], lines[6], lines[5], ""}, "\n"),
		"a key twice":           strings.Join([]string{lines[0], lines[1], lines[2], lines[3], lines[4], lines[5], lines[5], ""}, "\n"),
		"a line more":           good + "extra 1\n",
		"no signature":          good + "\n",
		"half a signature":      good + "\n— a\n",
		"a control character":   strings.Replace(good, "mirror", "mirr\x1b[2Jor", 1),
		"an invisible one":      strings.Replace(good, "mirror", "mirr\u200bor", 1),
		"CRLF":                  strings.ReplaceAll(good, "\n", "\r\n"),
		"a key of another form": strings.Replace(good, "key a+", "key A+", 1),
		"too large":             good + strings.Repeat("x", MaxText),
	} {
		if _, err := ParseText([]byte(text)); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestTheSameBytesUnderTwoNamesAreOneKey(t *testing.T) {
	secret, one, err := GenerateKey("a")
	if err != nil {
		t.Fatal(err)
	}
	two, err := publicOf("PRIVATE+KEY+b+00000000+" + strings.SplitN(secret, "+", 5)[4])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := New("o", 2, ends, one, two); err == nil || !strings.Contains(err.Error(), "there twice") {
		t.Errorf("one key counts twice: %v", err)
	}
}

func TestChainRefusesWhatDoesNotFollow(t *testing.T) {
	keys := newKeys(t, "a", "b")
	one := root(t, 1, keys[0])
	two, err := next(t, one, Change{Add: publics(keys[1])}, keys[0])
	if err != nil {
		t.Fatal(err)
	}
	three, err := next(t, two, Change{Remove: publics(keys[0])}, keys[0], keys[1])
	if err != nil {
		t.Fatal(err)
	}
	other := root(t, 1, keys[1])
	texts := func(list ...Text) (data []byte) {
		for _, text := range list {
			data = append(data, text.Bytes()...)
		}
		return data
	}
	for name, row := range map[string]struct {
		data []byte
		want string
	}{
		"the whole chain":      {three.Bytes(), ""},
		"a later root":         {texts(three[1], three[2]), ""},
		"a version left out":   {texts(three[0], three[2]), "version 3 stands behind version 1"},
		"a version twice":      {texts(three[0], three[1], three[1]), "version 2 stands behind version 2"},
		"backwards":            {texts(three[1], three[0]), "version 1 stands behind version 2"},
		"another root":         {texts(other[0], three[1]), "lacks 1 signatures of keys of version 1"},
		"nothing":              {nil, "it is empty"},
		"noise before":         {append([]byte("x\n"), three.Bytes()...), "expected the line"},
		"noise between":        {append(append(texts(three[0]), '\n'), texts(three[1])...), "malformed signatures"},
		"an unsigned 2nd root": {[]byte(three[1].body()), "lacks 1 signatures of its own keys"},
	} {
		_, err := ParseChain(row.data)
		if got := fmt.Sprint(err); row.want == "" && err != nil || !strings.Contains(got, row.want) {
			t.Errorf("%s: got %q, want %q", name, got, row.want)
		}
	}
}

func TestStatement(t *testing.T) {
	keys := newKeys(t, "a", "b", "c", "stranger")
	trusted := root(t, 2, keys[:3]...).Newest()
	s := Statement{Origin: "mirror.example.net", Generation: 7, SHA256: manifest.ObjectID{1}, Issued: now, Expires: now.Add(48 * time.Hour)}
	sign := func(s Statement, keys ...*PrivateKey) []byte {
		text, err := s.Sign(keys...)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	good := sign(s, keys[0], keys[1])
	foreign := s
	foreign.Origin = "other.example.net"
	for name, row := range map[string]struct {
		text []byte
		want error
	}{
		"two keys":                   {good, nil},
		"two of three and a foreign": {sign(s, keys[0], keys[3], keys[2]), nil},
		"one key":                    {sign(s, keys[0]), ErrUnsigned},
		"one key twice":              {sign(s, keys[0], keys[0]), ErrUnsigned},
		"one key and a stranger":     {sign(s, keys[0], keys[3]), ErrUnsigned},
		"none":                       {[]byte(s.body()), ErrUnsigned},
		"another generation":         {[]byte(strings.Replace(string(good), "generation 7", "generation 8", 1)), ErrBadSignature},
		"a later end":                {[]byte(strings.Replace(string(good), "expires 2026", "expires 2027", 1)), ErrBadSignature},
		"another origin":             {sign(foreign, keys[0], keys[1]), ErrWrongOrigin},
	} {
		got, signers, err := trusted.Believe(row.text)
		if !errors.Is(err, row.want) {
			t.Errorf("%s: %v, want %v", name, err, row.want)
		}
		if row.want == nil && (got != s || len(signers) != 2) {
			t.Errorf("%s: got %v of %v", name, got, signers)
		}
	}
	if s.HasExpired(s.Expires.Add(59*time.Minute)) || !s.HasExpired(s.Expires.Add(61*time.Minute)) {
		t.Error("a clock may be wrong by an hour, and by no more")
	}
}

func TestAWrongSignatureBesideEnoughRightOnesDoesNoHarm(t *testing.T) {
	keys := newKeys(t, "a", "b", "c")
	trusted := root(t, 2, keys...).Newest()
	text, err := Sign([]byte("x\n"), keys...)
	if err != nil {
		t.Fatal(err)
	}
	other, err := Sign([]byte("y\n"), keys[2])
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(text), "\n")
	lines[4] = strings.SplitAfter(string(other), "\n")[2]
	body, signers, err := trusted.Verify([]byte(strings.Join(lines, "")))
	if err != nil || string(body) != "x\n" || len(signers) != 2 {
		t.Errorf("got %q of %v: %v", body, signers, err)
	}
}

func TestSecondSignerSignsTheSameText(t *testing.T) {
	keys := newKeys(t, "a", "b")
	trusted := root(t, 2, keys...).Newest()
	text, err := Sign([]byte("1  one\n\n2  two\n"), keys[0])
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := trusted.Verify(text); !errors.Is(err, ErrUnsigned) {
		t.Errorf("one of two keys: %v", err)
	}
	if text, err = Sign(text, keys[1]); err != nil {
		t.Fatal(err)
	}
	body, signers, err := trusted.Verify(text)
	if err != nil || string(body) != "1  one\n\n2  two\n" || len(signers) != 2 {
		t.Errorf("got %q of %v: %v", body, signers, err)
	}
}

func TestKeysNeverPrint(t *testing.T) {
	key := newKey(t, "a")
	if text := fmt.Sprintf("%v %+v %#v %s %d", key, key, key, key, key); text != "REDACTED REDACTED REDACTED REDACTED REDACTED" {
		t.Error(text)
	}
	if _, err := ParsePrivateKey("PRIVATE+KEY+a+00000000+SECRET"); err == nil || strings.Contains(err.Error(), "SECRET") {
		t.Errorf("got %v", err)
	}
	if _, err := ParseKey("PRIVATE+KEY+a+00000000+SECRET"); err == nil || strings.Contains(err.Error(), "SECRET") {
		t.Errorf("got %v", err)
	}
}

func FuzzParseChain(f *testing.F) {
	keys := newKeys(f, "a", "b")
	one := root(f, 1, keys[0])
	f.Add(one.Bytes())
	if two, err := next(f, one, Change{Add: publics(keys[1])}, keys[0]); err == nil {
		f.Add(two.Bytes())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := ParseChain(data)
		if err != nil {
			return
		}
		if string(c.Bytes()) != string(data) {
			t.Errorf("%q was read as %q", data, c.Bytes())
		}
	})
}

func FuzzParseStatement(f *testing.F) {
	key := newKey(f, "a")
	text, err := Statement{Origin: "o", Generation: 1, SHA256: manifest.ObjectID{1}, Issued: now, Expires: ends}.Sign(key)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := ParseStatement(data)
		if err == nil && s.body() != bodyOf(data) {
			t.Errorf("%q was read as %q", data, s.body())
		}
	})
}

func BenchmarkBelieve(b *testing.B) {
	keys := newKeys(b, "a", "b", "c")
	trusted := root(b, 2, keys...).Newest()
	text, err := Statement{Origin: "mirror.example.net", Generation: 1, SHA256: manifest.ObjectID{1}, Issued: now, Expires: ends}.Sign(keys[0], keys[1])
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, _, err := trusted.Believe(text); err != nil {
			b.Fatal(err)
		}
	}
}
