package signature

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/minio/minio-go/v7/pkg/credentials"
	"gopkg.in/ini.v1"

	"syncd/internal/disk/fsops"
)

// shared reads the shared files. A profile in them can name a program that gives the keys.
// The library starts it, in the session and with the environment of this process, so the
// library gets the files only if no other user can have chosen the program.
type shared struct{ credentials.FileAWSCredentials }

// NotTriedError says that a program which gives keys was not started.
type NotTriedError struct {
	File string
	Key  string // that names it, or the service that gives the keys
	Why  error
}

func (e *NotTriedError) Error() string {
	return fmt.Sprintf("%s of %s was not tried: %v", e.Key, e.File, e.Why)
}

func (e *NotTriedError) Unwrap() error { return e.Why }

// RetrieveWithCredContext is called by one goroutine at a time.
func (s *shared) RetrieveWithCredContext(c *credentials.CredContext) (credentials.Value, error) {
	why := mayStart()
	if why == nil {
		return s.FileAWSCredentials.RetrieveWithCredContext(c)
	}
	files := sharedFiles()
	return readKeys(why, files[:]...)
}

// maxShared limits a shared file in bytes.
const maxShared = 1 << 20

// Retrieve is for callers without a context.
func (s *shared) Retrieve() (credentials.Value, error) { return s.RetrieveWithCredContext(nil) }

// SharedFile is the path of the file with credentials that all tools of S3 read.
func SharedFile() (path string, isNamed bool) {
	return sharedPath("AWS_SHARED_CREDENTIALS_FILE", "credentials")
}

func sharedPath(variable, name string) (path string, isNamed bool) {
	if path := os.Getenv(variable); path != "" {
		return path, true
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", false
	}
	return filepath.Join(home, ".aws", name), false
}

// sharedFiles are the paths of the shared files, the one that counts more first.
func sharedFiles() [2]string {
	first, _ := SharedFile()
	second, _ := sharedPath("AWS_CONFIG_FILE", "config")
	return [2]string{first, second}
}

// KeysIn reads the keys that stand in a shared file. It starts no program.
func KeysIn(path string) (credentials.Value, error) {
	return readKeys(errors.New("the file was only read"), path)
}

// readKeys reads the keys that stand in shared files, and asks no program and no service for
// others. The files that count more stand first.
func readKeys(why error, files ...string) (credentials.Value, error) {
	profile := cmp.Or(os.Getenv("AWS_PROFILE"), "default")
	var notTried error
	for _, path := range files {
		text, _, err := fsops.ReadRegular(path, maxShared)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return credentials.Value{}, err
		}
		file, err := ini.Load(text)
		if err != nil {
			return credentials.Value{}, fmt.Errorf("%s is no file of profiles", path) // the cause can quote a secret
		}
		for _, name := range []string{"profile " + profile, profile} {
			section, err := file.GetSection(name)
			if err != nil {
				continue
			}
			// The values as they stand there: with String, "%(a)s" in them names other values,
			// which can take any memory together, or name each other without an end.
			id, secret := section.Key("aws_access_key_id").Value(), section.Key("aws_secret_access_key").Value()
			if id != "" && secret != "" {
				return credentials.Value{AccessKeyID: id, SecretAccessKey: secret, SessionToken: section.Key("aws_session_token").Value(), SignerType: credentials.SignatureV4}, nil
			}
			for _, key := range []string{"credential_process", "sso_role_name"} {
				if section.HasKey(key) && notTried == nil {
					notTried = &NotTriedError{File: path, Key: key, Why: why}
				}
			}
		}
	}
	return credentials.Value{}, cmp.Or(notTried, fs.ErrNotExist)
}
