package gate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"syncd/internal/host/command"
)

func TestMain(m *testing.M) {
	if command.IsSupervisor() {
		os.Exit(command.Supervise())
	}
	goleak.VerifyTestMain(m)
}

func spool(t *testing.T) func() (*os.File, error) {
	dir := t.TempDir()
	return func() (*os.File, error) { return os.CreateTemp(dir, "") }
}

func shell(script string) Gate {
	return Gate{Command: []string{"/bin/sh", "-c", script}, Timeout: time.Minute, Env: []string{"PATH=" + os.Getenv("PATH")}}
}

func check(t *testing.T, g Gate, s Subject) Finding {
	t.Helper()
	found, err := g.Check(context.Background(), s, spool(t))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestDifferencesThatCannotBeSeenAreShown(t *testing.T) {
	long := strings.Repeat("x", maxText)
	for name, row := range map[string]struct{ before, after, want string }{
		"line ends":          {"a,b\r\n", "a,b\n", `line 1: - a,b\r + a,b`},
		"blanks":             {"a  b\n", "a b\n", "line 1: - a  b + a b (they differ in blanks)"},
		"a blank at the end": {"a \n", "a\n", "line 1: - a  + a (they differ in blanks)"},
		"tab":                {"a\tb\n", "a b\n", `line 1: - a\tb + a b`},
		"invisible":          {"a\u200bb\n", "ab\n", `line 1: - a\u200bb + ab`},
		"no text":            {"\xff\n", "?\n", `line 1: - \xff + ?`},
		"quotes stay":        {"\"a\"\n", "b\n", `line 1: - "a" + b`},
		"far behind":         {long + "1\n", long + "2\n", fmt.Sprintf("line 1: - %s… + %s… (they differ beyond the first 200 bytes)", long, long)},
	} {
		c := compareLines(strings.NewReader(row.before), strings.NewReader(row.after))
		if len(c.shown) != 1 || c.shown[0] != row.want {
			t.Errorf("%s: %q, want %q", name, c.shown, row.want)
		}
	}
}

func TestFindings(t *testing.T) {
	short := shell("echo waiting; sleep 1000")
	short.Timeout = 300 * time.Millisecond
	missing := Gate{Command: []string{"/no/such/check"}, Timeout: time.Minute}
	rows := []struct {
		name   string
		gate   Gate
		passed bool
		says   []string
	}{
		{"passes", shell("echo fine"), true, nil},
		{"fails", shell("echo one; echo two >&2; exit 3"), false, []string{"exit status 3", "one", "two"}},
		{"is killed", shell("kill -9 $$"), false, []string{"signal: killed"}},
		{"hangs", short, false, []string{"timeout", "300ms", "waiting"}},
		{"is missing", missing, false, []string{"cannot be run", "no such file"}},
		{"prints 100 MiB", shell("head -c 104857600 /dev/zero | tr '\\0' 'x' | fold -w 1000; echo the end; exit 1"), false, []string{"the end"}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			found := check(t, row.gate, Subject{Path: "/"})
			if found.Passed != row.passed || row.passed == (found.Error != "") {
				t.Errorf("got %+v", found)
			}
			for _, text := range row.says {
				if !strings.Contains(found.Error, text) {
					t.Errorf("%q lacks %q", found.Error, text)
				}
			}
			if len(found.Error) > 8<<10 {
				t.Errorf("an error of %d bytes", len(found.Error))
			}
		})
	}
}

func TestEnvironmentOfTheContract(t *testing.T) {
	g := shell(`env | sort | grep -v -e ^PWD= -e ^_= -e ^SHLVL= -e ^OLDPWD=; exit 1`)
	s := Subject{Manifest: "m", Release: "2026.10", Revision: "abc", Path: "/new", Current: "/old", Views: map[string]string{"my-view.1": "/view"}}
	want := "PATH=" + os.Getenv("PATH") + "|SYNCD_CURRENT=/old|SYNCD_MANIFEST=m|SYNCD_PATH=/new|SYNCD_RELEASE=2026.10|SYNCD_REVISION=abc|SYNCD_VIEW_MY_VIEW_1=/view"
	if got := strings.Join(check(t, g, s).Lines, "|"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	s.Current = ""
	if got := strings.Join(check(t, g, s).Lines, "|"); !strings.Contains(got, "|SYNCD_CURRENT=|") {
		t.Errorf("got %s", got)
	}
}

func TestAnEndedContextGivesNoFinding(t *testing.T) {
	cause := errors.New("stop")
	ctx, cancel := context.WithCancelCause(context.Background())
	time.AfterFunc(100*time.Millisecond, func() { cancel(cause) })
	if found, err := shell("sleep 1000").Check(ctx, Subject{Path: "/"}, spool(t)); err != cause || found.Passed {
		t.Errorf("got %+v, %v", found, err)
	}
}

// tree writes 10,000 probe lines of which one in every n-th differs; 0 for none.
func tree(t *testing.T, nth int) string {
	t.Helper()
	dir := t.TempDir()
	var text bytes.Buffer
	for i := range 10_000 {
		if nth > 0 && i%nth == 0 {
			fmt.Fprintf(&text, "probe %d: changed\n", i)
		} else {
			fmt.Fprintf(&text, "probe %d: same\n", i)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "probes"), text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestCompareTwoTrees(t *testing.T) {
	g := shell(`cat "$SYNCD_PATH/probes"; echo read >&2`)
	g.Compare, g.Changed = true, 0.02
	served := tree(t, 0)
	onePercent := check(t, g, Subject{Path: tree(t, 100), Current: served})
	if !onePercent.Passed || len(onePercent.Differences) != 20 {
		t.Errorf("1 %%: %+v", onePercent)
	}
	threePercent := check(t, g, Subject{Path: tree(t, 33), Current: served})
	if threePercent.Passed || !strings.Contains(threePercent.Error, "304 of 10000 lines differ (3.04%)") || len(threePercent.Differences) != 20 ||
		threePercent.Differences[1] != "line 34: - probe 33: same + probe 33: changed" {
		t.Errorf("3 %%: %+v", threePercent)
	}
	first := check(t, g, Subject{Path: tree(t, 1)})
	if !first.Passed || len(first.Differences) != 0 {
		t.Errorf("with nothing served: %+v", first)
	}
	g.Command[2] = `echo about "$SYNCD_PATH" >&2; test "$SYNCD_PATH" != "$SYNCD_CURRENT"`
	broken := check(t, g, Subject{Path: tree(t, 1), Current: served})
	if broken.Passed || !strings.Contains(broken.Error, "for the served revision: exit status 1") || !strings.Contains(broken.Error, "about "+served) {
		t.Errorf("fails for the served tree: %+v", broken)
	}
}

func TestLinesAreComparedInOrder(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	rows := []struct {
		name, before, after string
		lines, differ       int
		first               string
	}{
		{"same", "a\nb\n", "a\nb\n", 2, 0, ""},
		{"no end of the last line", "a\nb", "a\nb\n", 2, 0, ""},
		{"empty", "", "", 0, 0, ""},
		{"one more", "a\n", "a\n\n", 2, 1, "line 2: + "},
		{"one less", "a\nb\n", "a\n", 2, 1, "line 2: - b"},
		{"shifted", "a\nb\nc\n", "b\nc\n", 3, 3, "line 1: - a + b"},
		{"a long line", long + "y\n", long + "z\n", 1, 1, "line 1: - " + long[:200] + "… + " + long[:200] + "… (they differ beyond the first 200 bytes)"},
		{"the same long line", long + "\n", long + "\n", 1, 0, ""},
		{"not UTF-8", "\xff\n", "a\n", 1, 1, `line 1: - \xff + a`},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			c := compareLines(strings.NewReader(row.before), strings.NewReader(row.after))
			first := strings.Join(c.shown[:min(len(c.shown), 1)], "")
			if c.err != nil || c.lines != row.lines || c.differ != row.differ || first != row.first {
				t.Errorf("got %+v, want %d of %d, %q", c, row.differ, row.lines, row.first)
			}
		})
	}
}

func TestComparingLongOutputsTakesLittleMemory(t *testing.T) {
	g := shell(`head -c 104857600 /dev/zero | tr '\0' 'x' | if test "$SYNCD_PATH" = /; then cat; else fold -w 100; fi`)
	g.Compare, g.Changed = true, 1
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	found := check(t, g, Subject{Path: "/", Current: "/tmp"})
	runtime.ReadMemStats(&after)
	if grown := int64(after.TotalAlloc - before.TotalAlloc); !found.Passed || grown > 512<<20 {
		t.Errorf("%d MiB were allocated: %+v", grown>>20, found.Error)
	}
	if sys := int64(after.Sys - before.Sys); sys > 64<<20 {
		t.Errorf("the process grew by %d MiB", sys>>20)
	}
}

// A full disk, or a lack of memory, is no verdict: the next sync asks the gate again.
func TestAFailureOfTheHostIsNoVerdict(t *testing.T) {
	compares := shell("echo line")
	compares.Compare = true
	crowded := shell("true")
	crowded.Env = []string{"X=" + strings.Repeat("x", 3<<20)} // more than the kernel takes
	full := func() (*os.File, error) { return os.OpenFile("/dev/full", os.O_RDWR, 0) }
	none := func() (*os.File, error) { return nil, os.ErrPermission }
	for name, row := range map[string]struct {
		gate  Gate
		spool func() (*os.File, error)
	}{
		"no file for the output": {compares, none}, "a full disk": {compares, full}, "no supervisor": {crowded, none},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := row.gate.Check(t.Context(), Subject{Path: "/", Current: "/"}, row.spool)
			if err == nil || found.Error != "" || found.Passed {
				t.Errorf("got %+v, %v", found, err)
			}
		})
	}
}
