package mirror

import (
	"os"
	"testing"

	"syncd/internal/mirror/permissions"
)

func TestGrantStartsOverWhenItEndedHalfWay(t *testing.T) {
	m := newMirror(t)
	r := recordOf(t, m, "dq", "2026.10", files{"a.dat": "a", "b.dat": "b"})
	mustChange(t, m, Change{Set: []Record{r}, Views: []View{viewOf("ref", "dq", true, r)}})
	narrow := Access{Files: 0o440, Directories: 0o750, Group: -1}
	must(t, m.Grant(permissions.Default()), os.WriteFile(m.path("state/permissions"), []byte("changing"), 0o600), os.Chmod(m.objectPath(sumOf("a")), 0o440))
	m = recovered(t, m.dir)
	must(t, m.Grant(permissions.Default()))
	perm := func(path string) os.FileMode {
		info, err := os.Stat(path)
		must(t, err)
		return info.Mode().Perm()
	}
	if got := perm(m.objectPath(sumOf("a"))); got != 0o444 {
		t.Errorf("object %o", got)
	}
	must(t, m.Grant(narrow))
	for path, want := range map[string]os.FileMode{
		m.objectPath(sumOf("b")): 0o440, m.path("current/ref/dq/b.dat.hash"): 0o440, m.path("current/dq.json"): 0o440,
		m.path("current/ref/dq"): 0o750, m.path("objects"): 0o750, m.path("generations/000001"): 0o750,
	} {
		if got := perm(path); got != want {
			t.Errorf("%s: %o, want %o", path, got, want)
		}
	}
	again := recordOf(t, m, "dq", "2026.11", files{"c.dat": "c"})
	if _, err := m.Publish(t.Context(), Change{Set: []Record{again}}); err != nil {
		t.Fatal(err)
	}
	if got := perm(m.objectPath(sumOf("c"))); got != 0o440 {
		t.Errorf("new object %o", got)
	}
}
