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
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		writer, err := account.WriterOf(path)
		if err == nil && !writer.IsOther() {
			writer, err = account.OwnerOf(info)
		}
		switch {
		case err != nil:
			return err
		case writer.IsOther():
			return fmt.Errorf("user %s can change %s, and decide which program runs: run syncd as that user, or give it keys", writer.Name, path)
		}
	}
	return nil
}
