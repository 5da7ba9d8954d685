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

func TestAPollTellsOfManyManifests(t *testing.T) {
	var states []State
	for n := range 100 {
		states = append(states, State{Manifest: fmt.Sprintf("m%03d", n), Host: "db01", ID: "1", Release: "2026.10", Revision: "0123456789ab"})
	}
	header := http.Header{HeaderState: {"of an earlier poll"}}
	if sent := SetStates(header, states); sent != MaxStates || len(header[HeaderState]) != sent {
		t.Errorf("%d of %d lines are sent", sent, len(header[HeaderState]))
	}
	for i := range states {
		states[i].Reason = strings.Repeat("x", maxValue)
		states[i] = states[i].Holding([]string{"2026.08-0123456789ab", "2026.09-0123456789ab"})
	}
	bytes := 0
	sent := SetStates(header, states)
	for _, line := range header[HeaderState] {
		bytes += len(line)
	}
	if sent == 0 || sent >= MaxStates || bytes > MaxStateText {
		t.Errorf("%d lines with %d bytes", sent, bytes)
	}
}

// A poll is of one host. What else stands in its lines counts as nothing.
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
