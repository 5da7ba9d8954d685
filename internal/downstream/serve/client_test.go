package serve

import (
	"crypto/sha256"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"syncd/internal/emulator"
)

// The tests of the client of the release service pass with this server in place of the
// emulator. Those that start no emulator have servers of their own.
func TestTheClientsTestsPassAgainstThisServer(t *testing.T) {
	const id = "TEST/id+1 &=" // the client's
	e := startProvider(t)
	h := startHost(t, e, entry("dq_addr_data"), entry("dq_old_data"))
	text := func(name string) emulator.Content { return emulator.Text("content of " + name) }
	data := emulator.File{Name: "md Addr,1.dat", Release: "2026.10", Content: text("md Addr,1.dat")}
	e.SetManifest("dq_old_data", "2026.08", data)
	e.SetManifest("dq_addr_data", "2026.09", data)
	h.sync()
	e.SetManifest("dq_addr_data", "2026.10", data,
		emulator.File{Class: emulator.ClassProduct, Name: "dq_full", Release: "2026.11", Content: text("dq_full")},
		emulator.File{Class: emulator.ClassLibrary, OS: "LINUX", Compiler: "GCC48", Architecture: "64BIT", Release: "2026.10", Name: "libmdAddr.so", Content: text("libmdAddr.so")},
		emulator.File{Class: emulator.ClassInterface, OS: "ANY", Language: "PYTHON", Architecture: "ANY", Release: "2026.09", Name: "mdAddr.py", Content: text("mdAddr.py")})
	h.sync()
	u := startUpstream(t, h.engine.Followers.Catalog(), func(c *Config) {
		who := Identity{Name: "client", sum: sha256.Sum256([]byte(id))}
		must(t, os.WriteFile(c.IDs.path, []byte(who.line()), 0o600))
		must(t, c.IDs.Reload())
	})
	before := u.requests.Load()
	cmd := exec.Command("go", "test", "-count=1", "-run", "^("+strings.Join(testsWithEmulator(t), "|")+")$", "../../clients/releases")
	cmd.Env = append(os.Environ(), "SYNCD_TEST_RELEASES_BEHIND="+u.url())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if answered := u.requests.Load() - before; answered < 20 {
		t.Errorf("only %d requests came here", answered)
	}
}

// testsWithEmulator names the tests of the client that start an emulator.
func testsWithEmulator(t *testing.T) (names []string) {
	t.Helper()
	files, err := os.ReadDir("../../clients/releases")
	must(t, err)
	for _, file := range files {
		if !strings.HasSuffix(file.Name(), "_test.go") {
			continue
		}
		text, err := os.ReadFile("../../clients/releases/" + file.Name())
		must(t, err)
		for _, function := range strings.Split(string(text), "\nfunc ")[1:] {
			if name := regexp.MustCompile(`^Test\w+`).FindString(function); name != "" && strings.Contains(function, "startEmulator(t)") {
				names = append(names, name)
			}
		}
	}
	if len(names) < 6 {
		t.Fatalf("only %q", names)
	}
	return names
}
