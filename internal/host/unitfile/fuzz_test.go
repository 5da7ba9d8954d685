package unitfile

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// FuzzUnit reads any text as a unit. No word that it finds is longer than the text.
func FuzzUnit(f *testing.F) {
	shipped, err := os.ReadFile("../../../deploy/systemd/syncd.service")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(shipped)
	f.Fuzz(func(t *testing.T, text []byte) {
		u := &Unit{service: map[string][]string{}}
		if u.add(text) != nil {
			return
		}
		environ, _ := (&Unit{service: map[string][]string{"Environment": u.service["Environment"]}}).Environment()
		for name, value := range environ {
			if len(name)+len(value) > len(text) {
				t.Errorf("%q: variable %q is %q", text, name, value)
			}
		}
		for key := range u.service {
			if total := len(strings.Join(u.Words(key), "")); total > len(text) {
				t.Errorf("%q: the words of %s have %d bytes", text, key, total)
			}
		}
		u.Command()
		u.Credential("customer_id")
	})
}

// FuzzWords finds each word again that was quoted by the rules of systemd.
func FuzzWords(f *testing.F) {
	f.Add("two words", `quotes " and '`, `back\\slash`)
	f.Add("", "\t", "ä")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		valid := func(s string) string { return strings.ToValidUTF8(s, "?") }
		want := []string{valid(a), valid(b), valid(c)}
		quoted := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
		line := `"` + quoted.Replace(want[0]) + `"` + " \t" + `"` + quoted.Replace(want[1]) + `" "` + quoted.Replace(want[2]) + `"`
		if got := words(line); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", line, got, want)
		}
	})
}
