package account

import (
	"os"
	"strings"
	"testing"
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
	for _, group := range strings.Fields(found["Groups"]) {
		if group != "23457" {
			t.Errorf("groups: %s", found["Groups"])
		}
	}
}
