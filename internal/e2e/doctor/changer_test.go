package doctor_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"syncd/internal/e2e"
)

// That user chooses the address in it, and which file of root would be sent there.
func TestRootSendsNoSecretThatTheChangerOfTheConfigurationCannotRead(t *testing.T) {
	t.Parallel()
	h := e2e.AsRoot(t)
	commands := [][]string{{"sync"}, {"manifests"}, {"files", "dq_addr_data"}, {"doctor"}, {"config", "check"}}
	for what, owned := range map[string]string{"the file": h.Path("syncd.yaml"), "its folder": h.Dir} {
		h.Must(os.Chown(owned, e2e.OtherUID, e2e.OtherGID))
		for _, args := range commands {
			out := h.Syncd(args...)
			h.Contains(fmt.Sprint(what, args), out.Stdout+out.Stderr, "user 23456 can change this configuration and cannot read the file", "chown root")
		}
		h.Must(os.Chown(owned, 0, 0))
	}
	for _, r := range h.Provider.Requests() {
		if strings.Contains(r.RawQuery, e2e.CustomerID) {
			t.Errorf("the Customer ID was sent to %s", r.Path)
		}
	}
	h.Must(os.Chown(h.Path("syncd.yaml"), e2e.OtherUID, e2e.OtherGID))
	h.Must(os.Chown(h.Path("id"), e2e.OtherUID, e2e.OtherGID))
	h.Expect(0, "manifests")
	h.Sync(0)
}

// The kernel lets each thread of a process pass by /proc/self/cwd and /proc/self/fd, past folders
// that only root may enter.
func TestRootSendsNoFileOfAPrivateFolderThatItHasOpenToTheChangerOfTheConfiguration(t *testing.T) {
	t.Parallel()
	h := e2e.AsRoot(t)
	private := h.Path("private")
	h.Must(errors.Join(os.MkdirAll(filepath.Join(private, "work"), 0o755), os.Chmod(private, 0o700)))
	h.Write("private/work/note", e2e.CustomerID, 0o644)
	h.Write("id", e2e.CustomerID, 0o644)
	h.Must(os.Chown(h.Path("syncd.yaml"), e2e.OtherUID, e2e.OtherGID))
	h.Expect(0, "manifests") // a file that this user can read
	asked := len(h.Provider.Requests())
	note, err := os.Open(filepath.Join(private, "work", "note"))
	h.Must(err)
	defer note.Close()
	for _, path := range []string{"/proc/self/cwd/note", "/proc/self/fd/0", "/dev/stdin"} {
		h.Settings.ID = "customer_id_file: " + path
		h.Configure()
		cmd := h.Command("manifests")
		cmd.Dir, cmd.Stdin = filepath.Join(private, "work"), note
		out, err := cmd.CombinedOutput()
		if err == nil {
			t.Errorf("%s was read", path)
		}
		h.Contains(path, string(out), "user 23456 can change this configuration and cannot read the file")
	}
	if now := len(h.Provider.Requests()); now != asked {
		t.Errorf("%d requests were sent", now-asked)
	}
}

// Root could write what a program of root reads, such as a drop-in of systemd.
func TestRootWritesNoExportOfAConfigurationThatAnotherUserCanChange(t *testing.T) {
	t.Parallel()
	h := e2e.AsRoot(t)
	h.Write("id", e2e.CustomerID, 0o644)
	folder := h.Path("srv", "flat")
	h.ConfigureWith("views:\n  - {name: flat, layout: flat, export: " + folder + "}")
	h.Must(os.Chown(h.Path("syncd.yaml"), e2e.OtherUID, e2e.OtherGID))
	h.Contains("root's data_dir", h.Expect(2, "sync").Stderr, "names exports that would be written as root", "user 23456 can change", "chown root")

	const third = e2e.OtherUID + 7
	h.Must(os.Mkdir(h.Data, 0o755))
	h.Must(os.Chown(h.Data, third, third))
	h.Contains("data_dir of a third user", h.Expect(2, "sync").Stderr, "names exports that would be written as 23463", "user 23456 can change")
	h.ConfigureWith(fmt.Sprintf("gate: {command: [/bin/touch, %q]}", h.Path("ran")))
	h.Contains("a gate", h.Expect(2, "run").Stderr, "names gates or hooks that would run as 23463", "user 23456 can change")
	h.ConfigureWith("sign: {key_file: " + h.Path("key") + ", trust_file: " + h.Path("trust") + "}")
	h.Contains("a key", h.Expect(2, "sync").Stderr, "names a key that would sign as 23463", "user 23456 can change")
	h.ConfigureWith("publish: {s3: {endpoint: \"http://127.0.0.1:9\", bucket: ours}}")
	h.Contains("a bucket", h.Expect(2, "sync").Stderr, "names a bucket that would be published to as 23463", "user 23456 can change")
	if _, err := os.Stat(folder); err == nil {
		t.Error("the export was made")
	}
	h.Must(os.Chown(h.Path("syncd.yaml"), third, third))
	h.ConfigureWith("")
	h.Sync(0) // as the user who owns both
}

// Root could make a file that its programs look at, such as /etc/nologin.
func TestRootMakesNoFileOfIDsWhereTheChangerOfTheConfigurationCannotWrite(t *testing.T) {
	t.Parallel()
	h := e2e.AsRoot(t)
	ids := h.Path("ids")
	h.ConfigureWith("serve: {listen: \"127.0.0.1:0\", public_url: \"http://127.0.0.1:9\", ids_file: " + ids + "}")
	h.Must(os.Chown(h.Path("syncd.yaml"), e2e.OtherUID, e2e.OtherGID))
	h.Contains("adding an id", h.Expect(1, "serve-id", "add", "one").Stderr, "permission denied")
	if _, err := os.Lstat(ids); err == nil {
		t.Error("the file was made")
	}
	h.Must(os.Chown(h.Path("syncd.yaml"), 0, 0))
	h.Expect(0, "serve-id", "add", "one")
}
