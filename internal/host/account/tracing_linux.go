package account

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// ForbidTracing keeps other programs of this process's user from its memory and its
// descriptors. Root that works as another user needs it after the change: the kernel does
// the same, unless fs.suid_dumpable is set.
func ForbidTracing() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("PR_SET_DUMPABLE: %w", err)
	}
	return nil
}
