package daemon_test

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"syncd/internal/e2e"
)

func TestRootKeepsTheOwnerOfTheDataDir(t *testing.T) {
	t.Parallel()
	h := e2e.AsRoot(t)
	h.Must(os.Mkdir(h.Data, 0o755))
	h.Must(os.Chown(h.Data, e2e.OtherUID, e2e.OtherGID))
	h.Expect(0, "status")
	h.Sync(0)
	h.OwnedByOther()
	h.Provider.AdvanceSample()
	p := h.SyncedDaemon()
	info, err := os.ReadFile("/proc/" + strconv.Itoa(p.Cmd.Process.Pid) + "/status")
	h.Must(err)
	h.Contains("the daemon's status", string(info), "Uid:\t23456\t23456\t23456\t23456", "Gid:\t23457\t23457\t23457\t23457")
	h.Flip("dq_addr_data/ews.txt")
	h.Expect(0, "verify", "--repair")
	p.Terminate()
	h.Expect(0, "rollback")
	h.Expect(0, "history")
	h.Expect(0, "verify")
	h.OwnedByOther()
}

// A setgid folder gives new folders its own group. Their owners may not be members.
func TestRootRunsWithTheOwnersGroupsNotTheFoldersGroup(t *testing.T) {
	t.Parallel()
	h := e2e.AsRoot(t)
	account, err := user.LookupId("1")
	if err != nil {
		t.Skipf("NOT TESTED: no user 1 here: %v", err)
	}
	groups, err := exec.Command("id", "-G", account.Username).Output()
	h.Must(err)
	h.Must(os.Mkdir(h.Data, 0o755))
	h.Must(os.Chown(h.Data, 1, e2e.OtherGID))
	p := h.SyncedDaemon()
	status, err := os.ReadFile("/proc/" + strconv.Itoa(p.Cmd.Process.Pid) + "/status")
	h.Must(err)
	own := account.Gid
	h.Contains("the daemon's status", string(status), "Uid:\t1\t1\t1\t1\n", "Gid:\t"+own+"\t"+own+"\t"+own+"\t"+own+"\n", "Groups:\t"+strings.TrimSpace(string(groups))+" \n")
	p.Terminate()
}

// The owner of the data directory can read neither file.
func TestRootReadsItsOwnFilesBeforeItBecomesTheOwner(t *testing.T) {
	t.Parallel()
	h := e2e.AsRoot(t)
	h.Must(os.Mkdir(h.Data, 0o755))
	h.Must(os.Chown(h.Data, e2e.OtherUID, e2e.OtherGID))
	useWebConfig(h, "")
	p := h.SyncedDaemon()
	code, _ := p.Get("/metrics")
	e2e.Same(h, "without a password", 401, code)
	h.Contains("reloading", fmt.Sprint(p.Logged("http.web_config not reloaded: the old one stays in force")["error"]), "permission denied", "owner of data_dir")
	code, _ = p.Get("/metrics")
	e2e.Same(h, "without a password", 401, code)
	p.Terminate()
}

// The server reads the key at each handshake.
func TestCertificateThatTheOwnerCannotReadIsRefusedAtTheStart(t *testing.T) {
	t.Parallel()
	h := e2e.AsRoot(t)
	h.Must(os.Mkdir(h.Data, 0o755))
	h.Must(os.Chown(h.Data, e2e.OtherUID, e2e.OtherGID))
	certificate, authority := e2e.SelfSigned(h)
	key, err := x509.MarshalPKCS8PrivateKey(certificate.PrivateKey)
	h.Must(err)
	h.Write("web.pem", authority+string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})), 0o600)
	useWebConfig(h, "")
	h.Write("web.yaml", "tls_server_config: {cert_file: web.pem, key_file: web.pem}\n", 0o600)
	h.Contains("run", h.Expect(2, "run").Stderr, "http.web_config", "cert_file", "permission denied", "owner of data_dir")
}

func TestUnprivilegedUserCanDoEverything(t *testing.T) {
	t.Parallel()
	h := e2e.AsRoot(t)
	h.Settings.Manifests = []string{"dq_addr_data", "dq_addr_bins"}
	h.ConfigureWith("retain: 0\nretain_for: 0s")
	h.Binary = e2e.CopyBinary(h)
	h.As = &syscall.Credential{Uid: e2e.OtherUID, Gid: e2e.OtherGID}
	for _, path := range []string{h.Dir, h.Path("id")} {
		h.Must(os.Chown(path, e2e.OtherUID, e2e.OtherGID))
	}
	h.Umask = "077"
	h.Sync(0)
	h.OwnedByOther()
	first := h.Published("dq_addr_data")
	old := h.InRevision("dq_addr_data")

	h.Provider.AdvanceSample()
	h.Sync(0)
	for _, gone := range []string{
		old, filepath.Join(h.Data, "generations", "000001"),
		filepath.Join(h.Data, "objects", first["mdAddr.dat"][:2], first["mdAddr.dat"]),
	} {
		if _, err := os.Lstat(gone); err == nil {
			t.Errorf("%s was not pruned", gone)
		}
	}
	h.Expect(0, "verify")
	h.Flip("dq_addr_data/ews.txt")
	h.Expect(0, "verify", "--repair")
	h.Expect(0, "status")
	h.ConfigureWith("")
	h.Provider.AdvanceSample()
	p := h.SyncedDaemon()
	h.Expect(0, "rollback")
	h.Expect(0, "get", "Data/2026.10/ews.txt")
	p.Terminate()
	h.OwnedByOther()
}

func TestDataDirOfAnotherUserIsRefused(t *testing.T) {
	t.Parallel()
	h := e2e.AsRoot(t)
	h.Sync(0) // root's
	p := h.Daemon()
	h.Binary = e2e.CopyBinary(h)
	h.Must(os.Chown(h.Path("id"), e2e.OtherUID, e2e.OtherGID))
	h.As = &syscall.Credential{Uid: e2e.OtherUID, Gid: e2e.OtherGID}
	h.Contains("stderr", h.Expect(1, "sync").Stderr, "permission denied", "user")
	h.Contains("stderr", h.Expect(1, "healthcheck").Stderr, "permission denied", "user")
	h.Expect(0, "verify") // readers may read
	p.Terminate()
	h.Contains("stderr", h.Expect(1, "sync").Stderr, "permission denied")
	h.Contains("stderr", h.Expect(1, "run").Stderr, "permission denied")
}

// The user of data_dir may change the configuration that its daemon reloads. What root had open
// when it started the daemon is not for that user.
func TestReloadReadsNoFileOfAPrivateFolderInWhichRootStartedTheDaemon(t *testing.T) {
	t.Parallel()
	h := e2e.AsRoot(t)
	private := h.Path("private")
	h.Must(errors.Join(os.MkdirAll(filepath.Join(private, "work"), 0o755), os.Chmod(private, 0o700)))
	h.Write("private/work/note", e2e.CustomerID, 0o644)
	h.Write("id", e2e.CustomerID, 0o644)
	h.Must(errors.Join(os.Mkdir(h.Data, 0o755), os.Chown(h.Data, e2e.OtherUID, e2e.OtherGID), os.Chown(h.Path("syncd.yaml"), e2e.OtherUID, e2e.OtherGID)))
	p := &e2e.Process{Host: h, Cmd: h.Command("run"), Stdout: &e2e.Buffer{}, Stderr: &e2e.Buffer{}, Done: make(chan struct{})}
	p.Cmd.Dir, p.Cmd.Stderr = filepath.Join(private, "work"), p.Stderr
	h.Must(p.Cmd.Start())
	go func() {
		defer close(p.Done)
		_ = p.Cmd.Wait() // Terminate looks at the outcome
	}()
	t.Cleanup(func() { _ = p.Cmd.Process.Kill() })
	p.Logged("started")
	p.Logged("sync")
	h.Settings.ID = "customer_id_file: /proc/self/cwd/note"
	h.Configure()
	p.Signal(syscall.SIGHUP)
	event := p.Logged("configuration not reloaded: the old one stays in force")
	h.Contains("error", fmt.Sprint(event["error"]), "customer_id_file", "permission denied")
	h.Settings.ID = "customer_id_file: id"
	h.Configure()
	p.Signal(syscall.SIGHUP)
	p.Logged("configuration reloaded")
	p.Terminate()
}
