package export

import (
	"path/filepath"
	"slices"
	"strings"
)

// systemTrees are folders of the operating system in which nothing is taken over.
var systemTrees = []string{
	"/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/proc", "/run", "/sbin", "/sys", "/usr",
	"/var/lib/apt", "/var/lib/dpkg", "/var/lib/pacman", "/var/lib/rpm", "/var/lib/systemd", "/var/log", "/var/spool",
	"/Applications", "/Library", "/System", "/private/etc", "/private/var/db",
}

// systemFolders hold the folders of others. Those in them may be exports.
var systemFolders = []string{
	"/", "/home", "/media", "/mnt", "/opt", "/root", "/srv", "/tmp", "/usr/local", "/usr/local/share",
	"/var", "/var/cache", "/var/lib", "/var/opt", "/var/tmp", "/var/www", "/Users", "/Volumes", "/private", "/private/tmp", "/private/var",
}

// IsSystemFolder is true for a folder of the operating system that can never be an export.
func IsSystemFolder(path string) bool {
	return slices.Contains(systemTrees, path) || slices.Contains(systemFolders, path) || slices.Contains([]string{"/home", "/Users"}, filepath.Dir(path))
}

// isOfSystem is also true for what lies in the trees of the system, but for /usr/local.
func isOfSystem(path string) bool {
	if IsSystemFolder(path) {
		return true
	}
	return !strings.HasPrefix(path, "/usr/local/") && slices.ContainsFunc(systemTrees, func(tree string) bool { return strings.HasPrefix(path, tree+"/") })
}

// Beside returns the names beside the folder at path that its export needs: that of the work
// folder, and that of a folder that was taken over.
func Beside(path string) []string {
	dir, name := filepath.Split(path)
	return []string{dir + workNameOf(name), dir + name + keptSuffix}
}
