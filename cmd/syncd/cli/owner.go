//go:build !windows

package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"syncd/internal/config"
	"syncd/internal/config/document"
	"syncd/internal/host/account"
)

// CheckPrograms refuses, to root, gates and hooks of a configuration that another user can
// change: that user would choose what root runs. It comes after BecomeOwner.
func CheckPrograms(cfg *config.Config) error {
	if os.Geteuid() != 0 || !cfg.RunsPrograms() {
		return nil
	}
	if err := account.CheckUnchanged(cfg.Path); err != nil {
		return &document.Error{
			File: cfg.Path, Problem: fmt.Sprintf("names gates or hooks that would run as root, and %v", err),
			Suggestion: "run `chown root` and `chmod go-w` on it, or give data_dir to the user that syncd shall work as",
		}
	}
	return nil
}

// BecomeOwner changes from root to the owner of an existing data directory, so that
// new files in it belong to the same user.
func BecomeOwner(dataDir string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	info, err := os.Stat(dataDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // syncd creates it as root
	}
	if err != nil {
		return fmt.Errorf("data_dir: %w", err)
	}
	owner, err := account.OwnerOf(info)
	if err != nil {
		return fmt.Errorf("the owner of %s: %w", dataDir, err)
	}
	if owner.UID == 0 {
		return nil
	}
	for _, step := range []func() error{
		func() error { return syscall.Setgroups(owner.Groups) },
		func() error { return syscall.Setgid(owner.GID) },
		func() error { return syscall.Setuid(owner.UID) },
		account.ForbidTracing, // this process still has what root gave it
	} {
		if err := step(); err != nil {
			return fmt.Errorf("change to user %d, the owner of %s: %w", owner.UID, dataDir, err)
		}
	}
	return nil
}
