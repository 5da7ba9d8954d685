package main

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Any ids will do: the kernel does not need an account.
const otherUID, otherGID = 23456, 23457

func TestRootKeepsTheOwnerOfTheDataDir(t *testing.T) {
	t.Parallel()
	h := asRoot(t)
	h.must(os.Mkdir(h.data, 0o755))
	h.must(os.Chown(h.data, otherUID, otherGID))
	h.expect(0, "status")
	h.sync(0)
	h.ownedByOther()
	h.provider.AdvanceSample()
	p := h.daemon()
	p.logged("sync")
	info, err := os.ReadFile("/proc/" + itoa(p.cmd.Process.Pid) + "/status")
	h.must(err)
	h.contains("the daemon's status", string(info), "Uid:\t23456\t23456\t23456\t23456", "Gid:\t23457\t23457\t23457\t23457")
	h.flip("dq_addr_data/ews.txt")
	h.expect(0, "verify", "--repair")
	p.terminate()
	h.expect(0, "rollback")
	h.expect(0, "history")
	h.expect(0, "verify")
	h.ownedByOther()
}

// A setgid folder gives new folders its own group. Their owners may not be members.
func TestRootRunsWithTheOwnersGroupsNotTheFoldersGroup(t *testing.T) {
	t.Parallel()
	h := asRoot(t)
	account, err := user.LookupId("1")
	if err != nil {
		t.Skipf("NOT TESTED: no user 1 here: %v", err)
	}
	groups, err := exec.Command("id", "-G", account.Username).Output()
	h.must(err)
	h.must(os.Mkdir(h.data, 0o755))
	h.must(os.Chown(h.data, 1, otherGID))
	p := h.daemon()
	p.logged("sync")
	status, err := os.ReadFile("/proc/" + itoa(p.cmd.Process.Pid) + "/status")
	h.must(err)
	own := account.Gid
	h.contains("the daemon's status", string(status), "Uid:\t1\t1\t1\t1\n", "Gid:\t"+own+"\t"+own+"\t"+own+"\t"+own+"\n", "Groups:\t"+strings.TrimSpace(string(groups))+" \n")
	p.terminate()
}

// The owner of the data directory can read neither file.
func TestRootReadsItsOwnFilesBeforeItBecomesTheOwner(t *testing.T) {
	t.Parallel()
	h := asRoot(t)
	h.must(os.Mkdir(h.data, 0o755))
	h.must(os.Chown(h.data, otherUID, otherGID))
	h.useWebConfig()
	p := h.daemon()
	p.logged("sync")
	code, _ := p.get("/metrics")
	same(h, "without a password", 401, code)
	h.contains("reloading", fmt.Sprint(p.logged("http.web_config not reloaded: the old one stays in force")["error"]), "permission denied", "owner of data_dir")
	code, _ = p.get("/metrics")
	same(h, "without a password", 401, code)
	p.terminate()
}

// The server reads the key at each handshake.
func TestCertificateThatTheOwnerCannotReadIsRefusedAtTheStart(t *testing.T) {
	t.Parallel()
	h := asRoot(t)
	h.must(os.Mkdir(h.data, 0o755))
	h.must(os.Chown(h.data, otherUID, otherGID))
	certificate, authority := selfSigned(h)
	key, err := x509.MarshalPKCS8PrivateKey(certificate.PrivateKey)
	h.must(err)
	h.write("web.pem", authority+string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})), 0o600)
	h.useWebConfig()
	h.write("web.yaml", "tls_server_config: {cert_file: web.pem, key_file: web.pem}\n", 0o600)
	h.contains("run", h.expect(2, "run").stderr, "http.web_config", "cert_file", "permission denied", "owner of data_dir")
}

// asRoot returns a host; it skips the test when it does not run as root.
func asRoot(t *testing.T) *host {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("NOT TESTED: this needs root")
	}
	return newHost(t)
}

func (h *host) ownedByOther() {
	h.Helper()
	h.must(filepath.WalkDir(h.data, func(path string, entry fs.DirEntry, err error) error {
		h.must(err)
		info, err := entry.Info()
		h.must(err)
		if owner := info.Sys().(*syscall.Stat_t); owner.Uid != otherUID || owner.Gid != otherGID {
			h.Errorf("%s belongs to %d:%d", path, owner.Uid, owner.Gid)
		}
		return nil
	}))
}

func TestUnprivilegedUserCanDoEverything(t *testing.T) {
	t.Parallel()
	h := asRoot(t)
	h.settings.manifests = []string{"dq_addr_data", "dq_addr_bins"}
	h.settings.more = "retain: 0\nretain_for: 0s"
	h.configure()
	h.binary = copyBinary(h)
	h.as = &syscall.Credential{Uid: otherUID, Gid: otherGID}
	for _, path := range []string{h.dir, h.path("id")} {
		h.must(os.Chown(path, otherUID, otherGID))
	}
	h.umask = "077"
	h.sync(0)
	h.ownedByOther()
	first := h.published("dq_addr_data")
	old := h.inRevision("dq_addr_data")

	h.provider.AdvanceSample()
	h.sync(0)
	for _, gone := range []string{
		old, filepath.Join(h.data, "generations", "000001"),
		filepath.Join(h.data, "objects", first["mdAddr.dat"][:2], first["mdAddr.dat"]),
	} {
		if _, err := os.Lstat(gone); err == nil {
			t.Errorf("%s was not pruned", gone)
		}
	}
	h.expect(0, "verify")
	h.flip("dq_addr_data/ews.txt")
	h.expect(0, "verify", "--repair")
	h.expect(0, "status")
	h.settings.more = ""
	h.configure()
	h.provider.AdvanceSample()
	p := h.daemon()
	p.logged("sync")
	h.expect(0, "rollback")
	h.expect(0, "get", "Data/2026.10/ews.txt")
	p.terminate()
	h.ownedByOther()
}

// copyBinary copies the program to a folder in which every user may run it.
func copyBinary(h *host) string {
	h.Helper()
	// A process that other tests start meanwhile would inherit a descriptor that this process
	// writes to, and the copy could not be executed ("text file busy").
	h.must(exec.Command("cp", h.binary, h.path("syncd")).Run())
	h.must(os.Chmod(h.path("syncd"), 0o755))
	h.raced = h.path("syncd")
	return h.path("syncd")
}

func TestDataDirOfAnotherUserIsRefused(t *testing.T) {
	t.Parallel()
	h := asRoot(t)
	h.sync(0) // root's
	p := h.daemon()
	h.binary = copyBinary(h)
	h.must(os.Chown(h.path("id"), otherUID, otherGID))
	h.as = &syscall.Credential{Uid: otherUID, Gid: otherGID}
	h.contains("stderr", h.expect(1, "sync").stderr, "permission denied", "user")
	h.contains("stderr", h.expect(1, "healthcheck").stderr, "permission denied", "user")
	h.expect(0, "verify") // readers may read
	p.terminate()
	h.contains("stderr", h.expect(1, "sync").stderr, "permission denied")
	h.contains("stderr", h.expect(1, "run").stderr, "permission denied")
}
