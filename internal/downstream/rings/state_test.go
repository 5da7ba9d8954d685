package rings

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestHeaderTellsTheStateOfAManifest(t *testing.T) {
	s := NewState("db01.example", "/var/lib/syncd", "1.4.0")
	if s.ID == NewState("db01.example", "/srv/syncd", "1.4.0").ID {
		t.Error("two data directories of one host have the same ID")
	}
	s.ID = "5f3a9c01"
	s.Release, s.Revision = "2026.10", "0123456789ab"
	if got, want := s.Header(), "host=db01.example; id=5f3a9c01; version=1.4.0; release=2026.10; revision=0123456789ab"; got != want {
		t.Errorf("got %s", got)
	}
	s.Refused, s.Reason, s.Attempts = "2026.11", "gate", 2
	got, err := ParseState(s.Header())
	if diff := cmp.Diff(s, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	if odd := NewState("db 01;\r\nevil=ü", "/", ""); odd.Host != "db-01-evil-" || odd.Version != "unknown" {
		t.Errorf("%+v", odd)
	}
}

func TestHeaderTellsWhatAHostHolds(t *testing.T) {
	s := State{Host: "db01", ID: "5f3a9c01"}
	if got, err := ParseState(s.Header()); err != nil || got.TellsHeld {
		t.Errorf("a host of an earlier version tells what it holds: %+v, %v", got, err)
	}
	if none, err := ParseState(s.Holding(nil).Header()); err != nil || !none.TellsHeld || none.Held != 0 || none.Holds != "" {
		t.Errorf("a host without data: %+v, %v", none, err)
	}
	got, err := ParseState(s.Holding([]string{"2026.10-0123456789ab", "2026.09-56789abcdef0", ".tmp-x"}).Header())
	if err != nil || got.Held != 2 || got.Holds != "2026.09-56789abcdef0+2026.10-0123456789ab" {
		t.Errorf("got %+v, %v", got, err)
	}
}

// A host can hold more than fits. The longest header of all is one that ParseState takes.
func TestALongListOfHeldRevisionsIsCut(t *testing.T) {
	long := strings.Repeat("x", maxValue)
	s := State{Host: long, ID: long, Version: long, Release: "2026.10", Revision: long, Refused: "2026.11", RefusedRevision: long, Reason: long, Attempts: maxAttempts}
	var ids []string
	for n := range 500 {
		ids = append(ids, fmt.Sprintf("2026.%02d-%012x", n%12+1, n))
	}
	header := s.Holding(ids).Header()
	got, err := ParseState(header)
	if err != nil || got.Held != 500 || len(got.held()) != maxTold || !strings.HasPrefix(got.Holds, "2026.01-") {
		t.Errorf("%d bytes: %v\n%+v", len(header), err, got)
	}
}

func TestUnusableHeadersAreRefused(t *testing.T) {
	const ok = "host=h; id=i"
	if _, err := ParseState(ok + "; later=x"); err != nil {
		t.Errorf("a key of a newer syncd: %v", err)
	}
	for name, header := range map[string]string{
		"empty":               "",
		"no host":             "id=i",
		"no id":               "host=h",
		"no value":            ok + "; version",
		"empty value":         ok + "; version=",
		"twice":               ok + "; host=x",
		"unknown twice":       ok + "; x=1; x=2",
		"trailing":            ok + ";",
		"quotes":              `host="h"; id=i`,
		"slash":               "host=a/b; id=i",
		"zero byte":           "host=a\x00b; id=i",
		"line":                ok + "; version=1\r\n2",
		"not ASCII":           "host=hé; id=i",
		"long value":          "id=i; host=" + strings.Repeat("h", maxValue+1),
		"long header":         ok + strings.Repeat("; x=1", maxHeader),
		"bad release":         ok + "; release=2026.13",
		"latest as release":   ok + "; release=latest",
		"bad refused":         ok + "; refused=newest",
		"attempts no number":  ok + "; attempts=many",
		"attempts negative":   ok + "; attempts=-1",
		"attempts very large": ok + "; attempts=99999999999999999999",
		"held no number":      ok + "; held=all",
		"held negative":       ok + "; held=-1",
		"held very large":     ok + "; held=99999999999",
		"holds no revision":   ok + "; held=1; holds=2026.10",
		"holds a path":        ok + "; held=1; holds=..-0123456789ab",
	} {
		if s, err := ParseState(header); err == nil || s != (State{}) {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
	}
}

func FuzzParseState(f *testing.F) {
	f.Add("host=db01; id=5f3a9c01; version=1.4.0; release=2026.10; revision=0123456789ab; refused=2026-11; reason=gate; attempts=1")
	f.Add("id=1;host=2;release=2026.q4")
	f.Add("id=1;host=2;held=3;holds=2026.Q4-0123456789ab+2026.10-0123456789ab;holds2=2026.11-ba9876543210")
	f.Add("manifest=a:20b:c3:bc; host=1; id=2")
	f.Fuzz(func(t *testing.T, header string) {
		s, err := ParseState(header)
		if err != nil {
			return
		}
		again, err := ParseState(s.Header())
		if err != nil || again != s {
			t.Errorf("%q: %+v, then %q: %+v, %v", header, s, s.Header(), again, err)
		}
		if len(s.Host) > maxValue || strings.ContainsAny(s.Host+s.ID+s.Version+s.Revision+s.Reason, "\x00\r\n\"/<> ") {
			t.Errorf("%q: %+v", header, s)
		}
	})
}

// Each of many made-up hosts is kept, so that it must be small.
func TestAStateKeepsLittleOfItsHeader(t *testing.T) {
	const count = 10_000
	inUse := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before, states := inUse(), make([]State, 0, count)
	long := strings.Repeat("x", 60)
	for n := range count {
		header := fmt.Sprintf("host=%d; id=1; version=%s; reason=%s", n, long, long)
		for key := 'a'; len(header) < maxHeader-maxValue; key++ {
			header += fmt.Sprintf("; %c=%s", key, long)
		}
		s, err := ParseState(header)
		must(t, err)
		states = append(states, s)
	}
	if took := (inUse() - before) / count; took > 512 {
		t.Errorf("%d bytes a host", took)
	}
	runtime.KeepAlive(states)
}
