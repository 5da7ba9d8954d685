package rings

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"syncd/internal/manifest"
)

func TestAnyNameOfAManifestFitsIntoAHeader(t *testing.T) {
	for _, name := range []string{"data", "All_Classes", "a b", "a:b", "a;b=c", "%41", "größe", "..x", strings.Repeat("ü", 127), strings.Repeat("x", 255)} {
		s := State{Manifest: name, Host: "db01", ID: "1"}
		got, err := ParseState(s.Header())
		if err != nil || got != s {
			t.Errorf("%q: %+v, %v", s.Header(), got, err)
		}
	}
	for _, text := range []string{"a:4", "a:zz", "a:", ":2f", ":00", "a:2f:2e", ".", ":2e:2e", ":ff", strings.Repeat("x", 256)} {
		if s, err := ParseState("host=h; id=i; manifest=" + text); err == nil || s != (State{}) {
			t.Errorf("%q names %q", text, s.Manifest)
		}
	}
}

// A poll is of one host. Other lines count as nothing.
func TestLinesOfAPollAreOfOneHost(t *testing.T) {
	const own = "host=db01; id=1; release=2026.10; manifest="
	lines := []string{
		own + "one", own + "one; version=2", "host=db02; id=1; manifest=two", "host=db01; id=2; manifest=two", "host=db01; id=1", "rubbish", "",
		own + "three",
	}
	a := (&Fleet{}).Asker("", "", http.Header{HeaderState: lines})
	if got := fmt.Sprint(a.Told()); got != "[one three]" {
		t.Errorf("%s", got)
	}
	for name, release := range map[string]manifest.Release{"one": "2026.10", "THREE": "2026.10", "two": ""} {
		if s := a.stateOf(name); s.Release != release || s.Host != "db01" || s.Manifest != "" {
			t.Errorf("%s: %+v", name, s)
		}
	}
	var many []string
	for n := range 5000 {
		many = append(many, fmt.Sprintf("%sm%d", own, n))
	}
	if a := (&Fleet{}).Asker("", "", http.Header{HeaderState: many}); len(a.Told()) != maxStates {
		t.Errorf("%d lines count", len(a.Told()))
	}
}
