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
	"syncd/internal/disk/datadir"
	"syncd/internal/host/account"
)

// CheckPrograms refuses, to root, gates, hooks, exports, signatures and publishing of a
// configuration that another user can change: that user would choose what runs as root, or as
// the owner of data_dir, which files appear where that one can write, what is signed, and what
// root's credentials write to which bucket. It comes after BecomeOwner.
func CheckPrograms(cfg *config.Config) error {
	signs, publishes := cfg.Sign.KeyFile != "", cfg.Publish.S3.IsSet()
	if !account.BegunByRoot() || !cfg.RunsPrograms() && !cfg.Exports() && !signs && !publishes {
		return nil
	}
	self := account.Self()
	var err error
	switch {
	case cfg.Changer.IsAnother() && cfg.Changer.UID != self.UID: // of what was read: another file may lie there by now
		err = fmt.Errorf("user %s can change %s", cfg.Changer.Name, cfg.Path)
	case self.UID == 0:
		err = account.CheckUnchanged(cfg.Path)
	}
	if err == nil {
		return nil
	}
	what := "gates or hooks that would run"
	switch {
	case cfg.RunsPrograms():
	case cfg.Exports():
		what = "exports that would be written"
	case signs:
		what = "a key that would sign"
	default:
		what = "a bucket that would be published to"
	}
	return &document.Error{
		File: cfg.Path, Problem: fmt.Sprintf("names %s as %s, and %v", what, self.Name, err),
		Suggestion: "run `chown root` and `chmod go-w` on it, or give data_dir to the user that syncd shall work as",
	}
}

// ChangerOf returns the user with whose permissions root reads the secrets that a
// configuration names.
func ChangerOf(path string, opened fs.FileInfo) config.Changer {
	if !account.BegunByRoot() {
		return config.Changer{}
	}
	changer, err := account.ChangerOf(path, opened)
	if err != nil { // such as a path that changed since it was opened
		return config.Changer{Name: "unknown", UID: -1, Do: func(func() error) error { return err }}
	}
	if !changer.IsOther() {
		return config.Changer{WasRoot: os.Geteuid() != 0}
	}
	return changerIs(changer)
}

func changerIs(user account.Account) config.Changer {
	found := config.Changer{Name: user.Name, UID: user.UID, Do: user.Do}
	if user.Do(func() error { return nil }) != nil { // root without capabilities
		found.MayRead = user.MayRead
	}
	return found
}

// Anybody reads, for root, only files that every user may read: those that a text of another user
// names. Other users read what they may.
func Anybody() config.Changer {
	if !account.BegunByRoot() {
		return config.Changer{}
	}
	return changerIs(account.Anybody())
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
	if err := datadir.CheckLinks(dataDir, owner.UID); err != nil || owner.UID == 0 {
		return err
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
