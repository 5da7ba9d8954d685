package unitfile

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"syncd/internal/disk/fsops"
)

// maxFile is more than a unit or a file of variables has, in bytes.
const maxFile = 1 << 20

// Environment returns the variables that the unit sets. It returns those that it could
// read even with an error.
func (u *Unit) Environment() (map[string]string, error) {
	environ := map[string]string{}
	for _, pair := range u.Words("Environment") {
		name, value, _ := strings.Cut(pair, "=")
		environ[name] = value
	}
	var failed error
	for _, file := range u.service["EnvironmentFile"] {
		path, optional := strings.CutPrefix(file, "-")
		data, _, err := fsops.ReadRegular(path, maxFile)
		if err != nil && (!optional || !errors.Is(err, fs.ErrNotExist)) {
			failed = errors.Join(failed, fmt.Errorf("EnvironmentFile=: %w", err))
		}
		for line := range strings.Lines(string(data)) {
			line = strings.TrimSpace(line)
			name, value, isPair := strings.Cut(line, "=")
			if isPair && !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, ";") {
				environ[strings.TrimSpace(name)] = strings.Trim(strings.TrimSpace(value), `"'`)
			}
		}
	}
	return environ, failed
}

// Credential returns the file that LoadCredential= names, "" for none. isOpaque is true
// when the unit gives the credential in a form that only systemd can read.
func (u *Unit) Credential(name string) (path string, isOpaque bool) {
	for _, value := range u.service["LoadCredential"] {
		if id, file, _ := strings.Cut(value, ":"); id == name {
			path = file
		}
	}
	for _, key := range []string{"LoadCredentialEncrypted", "SetCredential", "SetCredentialEncrypted", "ImportCredential"} {
		for _, value := range u.service[key] {
			if id, _, _ := strings.Cut(value, ":"); id == name {
				isOpaque = true
			}
		}
	}
	// systemd looks for a relative path in its own credential stores.
	return path, isOpaque || path != "" && !strings.HasPrefix(path, "/")
}
