package unitfile

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
)

// Names of the unit that syncd ships.
const (
	Name          = "syncd.service"
	IDCredential  = "customer_id"
	DefaultConfig = "/etc/syncd/syncd.yaml"
)

// ConfigFile is the configuration file of the daemon that the unit runs, with the unit's
// environment.
func (u *Unit) ConfigFile(environ map[string]string) string {
	command := u.Command()
	for i, word := range command {
		if path, isPath := strings.CutPrefix(word, "--config="); isPath {
			return path
		}
		if word == "--config" && i+1 < len(command) {
			return command[i+1]
		}
	}
	return cmp.Or(environ["SYNCD_CONFIG"], DefaultConfig)
}

// IDFile is the file from which the unit loads the Customer ID, if its daemon uses this
// configuration file; "" for none. The daemon's user gets it from there.
func IDFile(configFile string, dirs []string) (path, user string) {
	u, err := Find(Name, dirs)
	if err != nil || u.IsMasked {
		return "", ""
	}
	environ, _ := u.Environment() // what cannot be read names no other configuration
	path, isOpaque := u.Credential(IDCredential)
	if isOpaque || !IsSameFile(u.ConfigFile(environ), configFile) {
		return "", ""
	}
	return path, u.Value("User")
}

// IsSameFile compares two paths of files that may not exist.
func IsSameFile(a, b string) bool {
	one, err := os.Stat(a)
	other, otherErr := os.Stat(b)
	if err == nil && otherErr == nil {
		return os.SameFile(one, other)
	}
	a, err = filepath.Abs(a)
	b, otherErr = filepath.Abs(b)
	return err == nil && otherErr == nil && a == b
}
