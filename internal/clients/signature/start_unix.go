//go:build !windows

package signature

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"syncd/internal/host/account"
)

// mayStart is nil if only this user and root can have chosen a program that the shared files
// name. A process that was root never starts one: the program would belong to another user
// and have root's terminal.
func mayStart() error {
	if account.BegunByRoot() && os.Geteuid() != 0 {
		return errors.New("root starts no program of another user: run syncd as that user, or give it keys")
	}
	for _, path := range sharedFiles() {
		if err := account.CheckUnchanged(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("another user can decide which program runs: %w: run syncd as that user, or give it keys", err)
		}
	}
	return nil
}
