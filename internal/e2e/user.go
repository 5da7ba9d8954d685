package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// SelfSigned is a certificate for loopback and its PEM form.
func SelfSigned(h *Host) (tls.Certificate, string) {
	h.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	h.Must(err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "emulator"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	h.Must(err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// OtherUID and OtherGID need no account: any ids will do for the kernel.
const OtherUID, OtherGID = 23456, 23457

// AsRoot returns a host; it skips the test when it does not run as root.
func AsRoot(t *testing.T) *Host {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("NOT TESTED: this needs root")
	}
	return NewHost(t)
}

// OwnedByOther requires that the whole data directory belongs to OtherUID.
func (h *Host) OwnedByOther() {
	h.Helper()
	h.Must(filepath.WalkDir(h.Data, func(path string, entry fs.DirEntry, err error) error {
		h.Must(err)
		info, err := entry.Info()
		h.Must(err)
		if owner := info.Sys().(*syscall.Stat_t); owner.Uid != OtherUID || owner.Gid != OtherGID {
			h.Errorf("%s belongs to %d:%d", path, owner.Uid, owner.Gid)
		}
		return nil
	}))
}

// CopyBinary copies the program to a folder in which every user may run it.
func CopyBinary(h *Host) string {
	h.Helper()
	h.Must(install(h.Binary, h.Path("syncd")))
	h.raced = h.Path("syncd")
	return h.Path("syncd")
}
