package priority

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestLowerReachesEveryThread lowers another process of this test, because nothing can be
// raised again.
func TestLowerReachesEveryThread(t *testing.T) {
	const inside = "PRIORITY_TEST_INSIDE"
	if os.Getenv(inside) == "" {
		cmd := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), inside+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
		return
	}
	if err := Lower(); err != nil {
		t.Fatal(err)
	}
	threads, err := os.ReadDir(threadsOfSelf)
	if err != nil || len(threads) == 0 {
		t.Fatal(err)
	}
	for _, thread := range threads {
		stat, err := os.ReadFile(threadsOfSelf + "/" + thread.Name() + "/stat")
		if err != nil {
			continue // it ended
		}
		_, fields, _ := strings.Cut(string(stat), ") ")
		if nice := strings.Fields(fields)[16]; nice != "19" {
			t.Errorf("thread %s has priority %s", thread.Name(), nice)
		}
	}
}
