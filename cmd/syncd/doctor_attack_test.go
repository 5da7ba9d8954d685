package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"syncd/internal/downstream/bucket/buckettest"
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
			f.keys("", "")
			f.write("id", customerID, 0o644)
			f.must(os.Mkdir(f.path("ran"), 0o777))
			f.must(os.Chmod(f.path("ran"), 0o777))
			f.write("program", fmt.Sprintf("#!/bin/sh\necho >%s/$(id -u)\nprintf '{\"Version\": 1, \"AccessKeyId\": \"%s\", \"SecretAccessKey\": \"%s\"}'\n", f.path("ran"), buckettest.AccessKey, buckettest.SecretKey), 0o755)
			f.must(os.Mkdir(f.path(".aws"), 0o755))
			for _, name := range []string{".aws/credentials", ".aws/config"} {
				f.write(name, fmt.Sprintf("[default]\ncredential_process = %s x\n", f.path("program")), 0o644)
			}
			for _, more := range []string{"", "Environment=AWS_SHARED_CREDENTIALS_FILE=%d/bucket", "LoadCredential=bucket:/dev/null"} {
				f.unit("User="+stranger, "Environment=HOME="+f.dir, more)
				f.syncd("doctor")
			}
			f.must(os.Remove(f.path("program"))) // it has the key
			entries, err := os.ReadDir(f.path("ran"))
			f.must(err)
			for _, entry := range entries {
				same(f.host, "the user that ran the program", stranger, entry.Name())
			}
			same(f.host, "the program ran", 1, len(entries))
		})
	}
}

// Another program of the daemon's user has the place of the daemon.
func TestDoctorRecommendsNoCommandOfAHostileDaemon(t *testing.T) {
	t.Parallel()
	h := patientHost(t)
	h.sync(0)
	listener, err := net.Listen("unix", filepath.Join(h.data, "state", "syncd.sock"))
	h.must(err)
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
	for _, f := range h.doctor(1).Findings {
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
	h := asRoot(t)
	h.environ = []string{"SYSTEMD_UNIT_PATH=" + h.path("units")}
	h.write("id", customerID, 0o644)
	h.settings.more = fmt.Sprintf("views:\n  - {name: v, manifests: [dq_addr_data], export: %q}", h.path("foreign", "geo"))
	h.configure()
	h.must(os.Mkdir(h.path("foreign"), 0o755))
	h.giveData(otherUID, otherGID, 0o755)
	h.write("secret", "", 0o600)
	steps := func(args ...string) (all string) {
		for _, f := range h.doctor(1, args...).Findings {
			if f.Check == "data_dir" {
				all += f.Next + "\n"
			}
		}
		return all
	}
	h.contains("for an export", steps(), "install -d -o")
	h.settings.more = ""
	h.configure()
	h.sync(0)
	h.must(os.Symlink(h.path("secret"), filepath.Join(h.data, "state", "x; touch PWNED #")))
	same(h, "for a file in state", fmt.Sprintf("run `chown -R %d: %s`, and let the user pass through the folders above it\n", otherUID, h.data), steps())
	h.use(h.path("foreign"))
	h.must(os.Rename(h.path("id"), h.path("foreign", "of others")))
	h.write("id", customerID, 0o644)
	h.must(os.Chmod(h.path("foreign"), 0o700))
	if got := steps("--user", stranger); strings.Contains(got, "chown") {
		t.Errorf("for a folder of others: %s", got)
	}
}

func TestDoctorDoesNotWaitForAFIFO(t *testing.T) {
	t.Parallel()
	h := patientHost(t)
	h.must(unix.Mkfifo(h.path("fifo"), 0o600))
	h.unit("EnvironmentFile=" + h.path("fifo"))
	h.diagnosed("unit", []string{"EnvironmentFile=", "not a regular file"})
	h.unit("LoadCredential=customer_id:" + h.path("fifo"))
	h.syncd("doctor") // it ends
	h.must(os.Remove(h.path("units", "syncd.service")))
	h.must(unix.Mkfifo(h.path("units", "syncd.service"), 0o600))
	h.diagnosed("unit", []string{"not a regular file"})
}
