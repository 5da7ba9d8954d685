package unitfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// write writes a file below a folder, and the folders that it needs.
func write(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

func find(t *testing.T, dirs ...string) *Unit {
	t.Helper()
	u, err := Find("syncd.service", dirs)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func service(t *testing.T, lines string) *Unit {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, "syncd.service", "[Unit]\nDescription=x\n[Service]\n"+lines)
	return find(t, dir)
}

func TestDropInsAddReplaceAndTakeBack(t *testing.T) {
	own, vendor := t.TempDir(), t.TempDir()
	write(t, vendor, "syncd.service", "[Service]\nUser=syncd\nLoadCredential=customer_id:/etc/a\nEnvironment=A=1 \"B=two words\"\nReadWritePaths=/srv/a\n[Install]\nUser=none\n")
	write(t, vendor, "syncd.service.d/50-x.conf", "[Service]\nUser=vendor\n")
	write(t, own, "syncd.service.d/50-x.conf", "[Service]\nLoadCredential=\nReadWritePaths=/srv/b \\\n  /srv/c\n")
	write(t, own, "syncd.service.d/60-y.conf", "# comment\n[Service]\nEnvironment=A=3\n")
	u := find(t, own, vendor)
	environ, err := u.Environment()
	path, opaque := u.Credential("customer_id")
	got := []any{u.Value("User"), u.Words("ReadWritePaths"), environ, path, opaque, u.Path}
	want := []any{"syncd", []string{"/srv/a", "/srv/b", "/srv/c"}, map[string]string{"A": "3", "B": "two words"}, "", false, filepath.Join(vendor, "syncd.service")}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

func TestMissingAndMaskedUnits(t *testing.T) {
	dir := t.TempDir()
	if _, err := Find("syncd.service", []string{dir, dir + "/none"}); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if err := os.Symlink("/dev/null", filepath.Join(dir, "syncd.service")); err != nil {
		t.Fatal(err)
	}
	if u := find(t, dir); !u.IsMasked {
		t.Error("a masked unit looks like any other")
	}
}

func TestEnvironmentFilesAndCredentials(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "env", "# comment\nHTTPS_PROXY=\"http://p:1\"\n; other\nnone\n")
	u := service(t, "Environment=HTTPS_PROXY=x\nEnvironmentFile="+dir+"/env\nEnvironmentFile=-/nonexistent\nLoadCredential=customer_id:/etc/id\nSetCredential=other:x\n")
	environ, err := u.Environment()
	if diff := cmp.Diff(map[string]string{"HTTPS_PROXY": "http://p:1"}, environ); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if path, opaque := u.Credential("customer_id"); path != "/etc/id" || opaque {
		t.Error(path, opaque)
	}
	if _, opaque := u.Credential("other"); !opaque {
		t.Error("a set credential can be read")
	}
	if _, err := service(t, "EnvironmentFile=/nonexistent\n").Environment(); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestSandboxOfTheShippedUnit(t *testing.T) {
	shipped, err := os.ReadFile("../../../deploy/systemd/syncd.service")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write(t, dir, "syncd.service", string(shipped))
	write(t, dir, "syncd.service.d/own.conf", "[Service]\nReadWritePaths=/srv/mirror\n")
	u := find(t, dir)
	for path, want := range map[string]Access{
		"/var/lib/syncd": Writable, "/var/lib/syncd/x": Writable, "/var/lib/syncd2": ReadOnly, "/srv": ReadOnly, "/srv/mirror/data": Writable,
		"/etc/syncd/syncd.yaml": ReadOnly, "/home/a/data": Hidden, "/root/x": Hidden, "/tmp/data": Hidden, "/var/tmp/data": Hidden,
	} {
		if got, cause := u.Access(path); got != want || (want == Writable) != (cause == "") {
			t.Errorf("%s: %d because of %q, want %d", path, got, cause, want)
		}
	}
	for program, want := range map[string]bool{"/usr/bin/check": true, "/bin/sh": true, "/opt/check": false, "/var/lib/syncd/x": false} {
		if u.MayExecute(program) != want {
			t.Errorf("%s: %v", program, !want)
		}
	}
	if diff := cmp.Diff([]string{"/srv/mirror"}, u.Missing()); diff != "" {
		t.Errorf("missing: %s", diff)
	}
	command := u.Command()
	if diff := cmp.Diff([]string{"/usr/bin/syncd", "run"}, command); diff != "" {
		t.Error(diff)
	}
	if path, _ := u.Credential("customer_id"); path != "/etc/syncd/customer_id" || !u.Makes("/var/lib/syncd/") || u.Makes("/srv") {
		t.Error("the credential or the state directory is missing")
	}
}

func TestSandboxSettings(t *testing.T) {
	for lines, want := range map[string]Access{
		"":                     Writable,
		"ProtectSystem=full":   Writable,
		"ProtectSystem=strict": ReadOnly,
		"ProtectSystem=strict\nReadWritePaths=-/srv":                       Writable,
		"ReadOnlyPaths=/srv":                                               ReadOnly,
		"ReadOnlyPaths=/\nReadWritePaths=/":                                Writable,
		"ReadWritePaths=/srv\nInaccessiblePaths=/srv/d":                    Hidden,
		"ProtectHome=yes\nPrivateTmp=yes":                                  Writable,
		"ProtectSystem=strict\nReadWritePaths=/srv\nReadWritePaths=":       ReadOnly,
		"ProtectSystem=strict\nStateDirectory=syncd\nReadOnlyPaths=/other": ReadOnly,
	} {
		if got, _ := service(t, lines+"\n").Access("/srv/d/e"); got != want {
			t.Errorf("%q: %d, want %d", lines, got, want)
		}
	}
	if got, _ := service(t, "ProtectHome=read-only\n").Access("/home/a"); got != ReadOnly {
		t.Error(got)
	}
}

func TestWordsOfCommands(t *testing.T) {
	for line, want := range map[string][]string{
		"/usr/bin/syncd run":                      {"/usr/bin/syncd", "run"},
		"-/usr/bin/syncd --config '/a b' run":     {"/usr/bin/syncd", "--config", "/a b", "run"},
		`/usr/bin/syncd "--config=/a\"b" ""  run`: {"/usr/bin/syncd", `--config=/a"b`, "", "run"},
		"": nil,
	} {
		if diff := cmp.Diff(want, service(t, "ExecStart="+line+"\n").Command()); diff != "" {
			t.Errorf("%s: %s", line, diff)
		}
	}
}
