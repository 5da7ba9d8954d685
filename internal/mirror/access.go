package mirror

import (
	"fmt"
	"io/fs"
)

// Access is the permissions of everything that readers see.
type Access struct {
	Files, Directories fs.FileMode
	Group              int // negative leaves the group unchanged
}

// DefaultAccess lets everyone read.
func DefaultAccess() Access { return Access{Files: 0o444, Directories: 0o755, Group: -1} }

func (a Access) String() string { return fmt.Sprintf("%04o %04o %d", a.Files, a.Directories, a.Group) }
