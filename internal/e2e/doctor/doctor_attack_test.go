package doctor_test

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"syncd/internal/downstream/bucket/buckettest"
	"syncd/internal/e2e"
)

// The daemon's user owns the shared file with the keys, and can name a program in it.
func TestDoctorRunsNoProgramOfTheDaemonAsRoot(t *testing.T) {
	t.Parallel()
	store := buckettest.New(t)
	store.Publish("mirror/", 1, buckettest.Release{Manifest: "m", Release: "2026.10", Files: map[string]string{"m.dat": "good"}})
	for _, publishes := range []bool{false, true} {
		t.Run(fmt.Sprintf("publishes %v", publishes), func(t *testing.T) {
			t.Parallel()
			f := patientStore(t, store, publishes)
			keys(f, "", "")
			f.Write("id", e2e.CustomerID, 0o644)
			f.Must(os.Mkdir(f.Path("ran"), 0o777))
			f.Must(os.Chmod(f.Path("ran"), 0o777))
			f.Write("program", fmt.Sprintf("#!/bin/sh\necho >%s/$(id -u)\nprintf '{\"Version\": 1, \"AccessKeyId\": \"%s\", \"SecretAccessKey\": \"%s\"}'\n", f.Path("ran"), buckettest.AccessKey, buckettest.SecretKey), 0o755)
			f.Must(os.Mkdir(f.Path(".aws"), 0o755))
			for _, name := range []string{".aws/credentials", ".aws/config"} {
				f.Write(name, fmt.Sprintf("[default]\ncredential_process = %s x\n", f.Path("program")), 0o644)
				f.Must(os.Chown(f.Path(name), e2e.OtherUID, e2e.OtherGID))
			}
			for _, more := range []string{"", "Environment=AWS_SHARED_CREDENTIALS_FILE=%d/bucket", "LoadCredential=bucket:/dev/null", "Environment=AWS_SHARED_CREDENTIALS_FILE=%d/bucket\nLoadCredential=bucket:" + f.Path(".aws/config")} {
				unit(f.Host, "User="+stranger, "Environment=HOME="+f.Dir, more)
				found := f.Syncd("doctor")
				if more == "" {
					f.Contains("the doctor", found.Stdout, "credential_process of "+f.Path(".aws/credentials"), "was not tried")
				}
			}
			f.Must(os.Remove(f.Path("units", "syncd.service")))
			f.Must(os.RemoveAll(f.Data))
			f.Must(os.Mkdir(f.Data, 0o755))
			f.Must(os.Chown(f.Data, e2e.OtherUID, e2e.OtherGID))
			for _, args := range [][]string{{"doctor"}, {"sync"}, {"publish"}, {"files", "m"}} { // by root, without a daemon
				f.Syncd(args...)
			}
			f.Must(os.Remove(f.Path("program"))) // it has the key
			entries, err := os.ReadDir(f.Path("ran"))
			f.Must(err)
			e2e.Same(f.Host, "the program ran", 0, len(entries))
		})
	}
}

// Another program of the daemon's user has the place of the daemon.
func TestDoctorRecommendsNoCommandOfAHostileDaemon(t *testing.T) {
	t.Parallel()
	h := patientHost(t)
	h.Sync(0)
	listener, err := net.Listen("unix", filepath.Join(h.Data, "state", "syncd.sock"))
	h.Must(err)
	const name = "x; touch PWNED #"
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answers := map[string]string{
			"/health":  `{"error": {"text": "bad: run touch PWNED"}}`,
			"/status":  fmt.Sprintf(`{"result": {"manifests": [{"name": %q, "state": "failed"}, {"name": "--config=/tmp/x", "state": "held"}]}}`, name),
			"/samples": fmt.Sprintf(`{"result": [{"name": "syncd_last_success_timestamp_seconds", "labels": {"manifest": %q}, "value": 1}]}`, name),
		}
		fmt.Fprintln(w, answers[r.URL.Path])
	})}
	go server.Serve(listener) //nolint:errcheck // it ends with the test
	t.Cleanup(func() { server.Close() })
	found := 0
	for _, f := range doctor(h, 1).Findings {
		if strings.Contains(strings.ReplaceAll(f.Next, "'"+name+"'", ""), "PWNED") || strings.Contains(f.Next, "--config") {
			t.Errorf("%s: the next step is %q", f.Check, f.Next)
		}
		if strings.Contains(f.Next, "'"+name+"'") {
			found++
		}
	}
	if found == 0 {
		t.Error("no finding names the manifest")
	}
}

// No step gives away a folder of other programs, or names a file that another user named.
func TestDoctorGivesAwayNothingButTheDataDir(t *testing.T) {
	t.Parallel()
	h := e2e.AsRoot(t)
	h.Environ = []string{"SYSTEMD_UNIT_PATH=" + h.Path("units")}
	h.Write("id", e2e.CustomerID, 0o644)
	h.ConfigureWith(fmt.Sprintf("views:\n  - {name: v, manifests: [dq_addr_data], export: %q}", h.Path("foreign", "geo")))
	h.Must(os.Mkdir(h.Path("foreign"), 0o755))
	giveData(h, e2e.OtherUID, e2e.OtherGID, 0o755)
	h.Write("secret", "", 0o600)
	steps := func(args ...string) (all string) {
		for _, f := range doctor(h, 1, args...).Findings {
			if f.Check == "data_dir" {
				all += f.Next + "\n"
			}
		}
		return all
	}
	h.Contains("for an export", steps(), "install -d -o")
	h.ConfigureWith("")
	h.Sync(0)
	h.Must(os.Symlink(h.Path("secret"), filepath.Join(h.Data, "state", "x; touch PWNED #")))
	e2e.Same(h, "for a file in state", fmt.Sprintf("run `chown -R %d: %s`, and let the user pass through the folders above it\n", e2e.OtherUID, h.Data), steps())
	e2e.UseDisk(h, h.Path("foreign"))
	h.Must(os.Rename(h.Path("id"), h.Path("foreign", "of others")))
	h.Write("id", e2e.CustomerID, 0o644)
	h.Must(os.Chmod(h.Path("foreign"), 0o700))
	if got := steps("--user", stranger); strings.Contains(got, "chown") {
		t.Errorf("for a folder of others: %s", got)
	}
}

func TestDoctorDoesNotWaitForAFIFO(t *testing.T) {
	t.Parallel()
	h := patientHost(t)
	h.Must(unix.Mkfifo(h.Path("fifo"), 0o600))
	unit(h, "EnvironmentFile="+h.Path("fifo"))
	diagnosed(h, "unit", []string{"EnvironmentFile=", "not a regular file"})
	unit(h, "LoadCredential=customer_id:"+h.Path("fifo"))
	h.Syncd("doctor") // it ends
	h.Must(os.Remove(h.Path("units", "syncd.service")))
	h.Must(unix.Mkfifo(h.Path("units", "syncd.service"), 0o600))
	diagnosed(h, "unit", []string{"not a regular file"})
}

// Root would run as root what that user chose.
func TestRootRunsNoGateOfAConfigurationThatAnotherUserCanChange(t *testing.T) {
	t.Parallel()
	h := e2e.AsRoot(t)
	h.Settings.More = fmt.Sprintf("gate: {command: [/bin/touch, %q]}", h.Path("ran"))
	h.Configure()
	h.Write("id", e2e.CustomerID, 0o644)
	for name, change := range map[string]func() error{
		"the file": func() error { return os.Chown(h.Path("syncd.yaml"), e2e.OtherUID, -1) },
		"the group": func() error {
			return errors.Join(os.Chown(h.Path("syncd.yaml"), 0, e2e.OtherGID), os.Chmod(h.Path("syncd.yaml"), 0o664))
		},
		"the folder": func() error {
			return errors.Join(os.Chmod(h.Path("syncd.yaml"), 0o644), os.Chown(h.Dir, e2e.OtherUID, -1))
		},
	} {
		h.Must(change())
		out := h.Syncd("sync")
		e2e.Same(h, "exit code for "+name, 2, out.Code)
		h.Contains(name, out.Stderr, "would run as root", "chown root")
		h.Must(os.Chown(h.Path("syncd.yaml"), 0, 0))
		h.Must(os.Chmod(h.Path("syncd.yaml"), 0o644))
		h.Must(os.Chown(h.Dir, 0, 0))
	}
	if _, err := os.Stat(h.Path("ran")); err == nil {
		t.Error("the gate ran")
	}
	h.Sync(0)
	if _, err := os.Stat(h.Path("ran")); err != nil {
		t.Error("the gate did not run for root's own configuration")
	}
}
