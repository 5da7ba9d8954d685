package repair

import "syncd/internal/mirror/readers"

// holders names the programs that have a file open or mapped, as far as this user may see
// them.
func holders(path string) []string {
	names, err := readers.Of("/proc", path)
	if err != nil {
		return nil // no /proc in this container
	}
	return names
}
