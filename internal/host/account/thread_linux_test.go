package account

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A real, saved or further id of root that stayed would be a way back.
func TestWorkKeepsNoIDOfRoot(t *testing.T) {
	asRoot(t)
	var status []byte
	err := stranger(t).Do(func() (err error) {
		status, err = os.ReadFile("/proc/thread-self/status")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		found[name] = strings.Join(strings.Fields(value), " ")
	}
	for name, want := range map[string]string{
		"Uid": "23456 23456 23456 23456", "Gid": "23457 23457 23457 23457",
		"CapPrm": "0000000000000000", "CapEff": "0000000000000000",
	} {
		if found[name] != want {
			t.Errorf("%s: %s", name, found[name])
		}
	}
	groups := strings.Fields(found["Groups"])
	if len(groups) == 0 || slices.ContainsFunc(groups, func(group string) bool { return group != "23457" }) {
		t.Errorf("groups: %q", found["Groups"])
	}
}

// A thread that still has another user would end the process when root becomes one: all
// threads must follow.
func TestNoThreadKeepsTheAccountAfterTheWork(t *testing.T) {
	asRoot(t)
	a := stranger(t)
	for range 100 {
		if err := a.Do(func() error { return nil }); err != nil {
			t.Fatal(err)
		}
		threads, err := filepath.Glob("/proc/self/task/*/status")
		if err != nil {
			t.Fatal(err)
		}
		for _, thread := range threads {
			if status, _ := os.ReadFile(thread); strings.Contains(string(status), "\t23456\t") {
				t.Fatalf("%s:\n%s", thread, status)
			}
		}
	}
}

// The first thread of a process stays when its goroutine ends.
func TestWorkIsNotDoneOnTheFirstThread(t *testing.T) {
	asRoot(t)
	a := stranger(t)
	for range 300 {
		var thread int
		if err := a.Do(func() error { thread = unix.Gettid(); return nil }); err != nil {
			t.Fatal(err)
		}
		if thread == os.Getpid() {
			t.Fatal("it was")
		}
	}
}
