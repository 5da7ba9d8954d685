package certificate

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io/fs"
	"strings"

	"syncd/internal/disk/fsops"
)

// FileError says that a file of a connection cannot be used. Key names its setting. The
// error quotes nothing from the file.
type FileError struct {
	Key, Path string // ca_file, client_cert, client_key, or a file of signatures
	Problem   string
	Next      string

	cause error // of the operating system, or nil
}

func (e *FileError) Error() string {
	return e.Key + " " + e.Path + " " + e.Problem + ": " + e.Next
}

// Unwrap returns the cause.
func (e *FileError) Unwrap() error { return e.cause }

// maxFile limits each file; the system's roots have a quarter of a megabyte.
const maxFile = 16 << 20

// Roots returns the system's roots and the roots of a PEM file. Without a file it returns
// nil, which stands for the system's roots.
func Roots(caFile string) (*x509.CertPool, error) {
	if caFile == "" {
		return nil, nil
	}
	pem, err := read("ca_file", caFile, "name a PEM file with root certificates")
	if err != nil {
		return nil, err
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool()
	}
	if !roots.AppendCertsFromPEM(pem) {
		return nil, &FileError{Key: "ca_file", Path: caFile, Problem: "holds no PEM certificate", Next: "name a file with at least one"}
	}
	return roots, nil
}

// Client returns a client's certificate with its key, or nil without files. Its errors
// quote nothing from the files.
func Client(certFile, keyFile string) (*tls.Certificate, error) {
	if certFile == "" && keyFile == "" {
		return nil, nil
	}
	cert, err := read("client_cert", certFile, "name a PEM file with the client's certificate")
	if err != nil {
		return nil, err
	}
	key, err := read("client_key", keyFile, "name a PEM file with the client's key, which syncd's user may read")
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, &FileError{
			Key: "client_cert", Path: certFile, Problem: "and client_key " + keyFile + ": " + strings.TrimPrefix(err.Error(), "tls: "),
			Next: "name PEM files with a certificate and its unencrypted key",
		}
	}
	return &pair, nil
}

// read reads a file. Its error names the key of the configuration.
func read(key, path, next string) ([]byte, error) {
	data, _, err := fsops.ReadRegular(path, maxFile)
	if err == nil {
		return data, nil
	}
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		err = at.Err
	}
	return nil, &FileError{Key: key, Path: path, Problem: "cannot be read: " + err.Error(), Next: next, cause: err}
}
