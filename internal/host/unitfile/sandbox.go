package unitfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Access is what a service may do below a path.
type Access int

// The kinds of Access.
const (
	Hidden Access = iota // the service sees nothing there, or a folder of its own
	ReadOnly
	Writable
)

// place is a setting of the sandbox for everything below a path.
type place struct {
	path   string
	access Access
	cause  string // the setting, such as ProtectHome=yes
}

// Access returns what the service may do at a path, and the setting that decides it.
func (u *Unit) Access(path string) (Access, string) {
	path = resolve(path)
	best := place{"/", Writable, ""}
	for _, p := range u.places() {
		if isWithin(path, p.path) && len(p.path) >= len(best.path) {
			best = p
		}
	}
	return best.access, best.cause
}

// places are in the order in which they take precedence for the same path.
func (u *Unit) places() (all []place) {
	add := func(access Access, cause string, paths ...string) {
		for _, path := range paths {
			all = append(all, place{resolve(path), access, cause})
		}
	}
	cause := func(key string) string { return key + "=" + u.Value(key) }
	switch u.Value("ProtectSystem") {
	case "strict":
		add(ReadOnly, cause("ProtectSystem"), "/")
		add(Writable, "", "/dev", "/proc", "/sys")
	case "full":
		add(ReadOnly, cause("ProtectSystem"), "/usr", "/boot", "/efi", "/etc")
	case "yes", "true", "1", "on":
		add(ReadOnly, cause("ProtectSystem"), "/usr", "/boot", "/efi")
	}
	homes := []string{"/home", "/root", "/run/user"}
	if u.Value("ProtectHome") == "read-only" {
		add(ReadOnly, cause("ProtectHome"), homes...)
	} else if u.IsOn("ProtectHome") {
		add(Hidden, cause("ProtectHome"), homes...)
	}
	if u.IsOn("PrivateTmp") {
		add(Hidden, cause("PrivateTmp"), "/tmp", "/var/tmp")
	}
	for key, dir := range map[string]string{"StateDirectory": "/var/lib", "CacheDirectory": "/var/cache", "LogsDirectory": "/var/log", "RuntimeDirectory": "/run"} {
		for _, name := range u.Words(key) {
			add(Writable, "", filepath.Join(dir, name))
		}
	}
	add(ReadOnly, "ReadOnlyPaths=", u.paths("ReadOnlyPaths")...)
	add(Writable, "", u.paths("ReadWritePaths")...)
	add(Hidden, "InaccessiblePaths=", u.paths("InaccessiblePaths")...)
	return all
}

// Makes is true for a folder that systemd makes before it starts the service.
func (u *Unit) Makes(path string) bool {
	return slices.ContainsFunc(u.Words("StateDirectory"), func(name string) bool { return filepath.Join("/var/lib", name) == filepath.Clean(path) })
}

// Missing returns the writable paths that must exist and do not: systemd does not start the
// service then.
func (u *Unit) Missing() (missing []string) {
	for _, path := range u.Words("ReadWritePaths") {
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) && strings.HasPrefix(path, "/") && !u.Makes(path) {
			missing = append(missing, path)
		}
	}
	return missing
}

// MayExecute is true when NoExecPaths= and ExecPaths= permit to run a program.
func (u *Unit) MayExecute(program string) bool {
	program = resolve(program)
	may, longest := true, 0
	for _, permission := range []struct {
		key string
		may bool
	}{{"NoExecPaths", false}, {"ExecPaths", true}} {
		for _, path := range u.paths(permission.key) {
			if path = resolve(path); isWithin(program, path) && len(path) >= longest {
				may, longest = permission.may, len(path)
			}
		}
	}
	return may
}

// paths are the paths of a key without the prefixes that say "if it exists" and "below
// the service's root".
func (u *Unit) paths(key string) (paths []string) {
	for _, word := range u.Words(key) {
		paths = append(paths, strings.TrimLeft(word, "-+"))
	}
	return paths
}

// resolve follows symlinks, as far as the path exists.
func resolve(path string) string {
	path = filepath.Clean(path)
	if target, err := filepath.EvalSymlinks(path); err == nil {
		return target
	}
	if parent := filepath.Dir(path); parent != path {
		return filepath.Join(resolve(parent), filepath.Base(path))
	}
	return path
}

func isWithin(path, dir string) bool {
	return dir == "/" || path == dir || strings.HasPrefix(path, dir+"/")
}
