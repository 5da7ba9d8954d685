package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// becomeOwner changes from root to the owner of an existing data directory, so that
// new files in it belong to the same user.
func becomeOwner(dataDir string) error {
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
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok || owner.Uid == 0 {
		return nil
	}
	uid := int(owner.Uid)
	gid, groups, err := groupsOf(uid, int(owner.Gid))
	if err != nil {
		return fmt.Errorf("groups of user %d, the owner of %s: %w", uid, dataDir, err)
	}
	for _, step := range []func() error{
		func() error { return syscall.Setgroups(groups) },
		func() error { return syscall.Setgid(gid) },
		func() error { return syscall.Setuid(uid) },
	} {
		if err := step(); err != nil {
			return fmt.Errorf("change to user %d, the owner of %s: %w", uid, dataDir, err)
		}
	}
	return nil
}

// groupsOf returns the user's own primary group, and all groups. It does not take the
// folder's group from a user with an account: in a setgid folder anyone can make a
// folder with a group that is not his own. A uid without an account, as in a
// container, has no group of its own and gets that of the folder.
func groupsOf(uid, folderGID int) (gid int, groups []int, err error) {
	account, err := user.LookupId(strconv.Itoa(uid))
	if errors.As(err, new(user.UnknownUserIdError)) || errors.Is(err, fs.ErrNotExist) { // or there is no /etc/passwd
		return folderGID, []int{folderGID}, nil
	}
	if err != nil {
		return 0, nil, err
	}
	gid, err = strconv.Atoi(account.Gid)
	if err != nil {
		return 0, nil, err
	}
	ids, err := account.GroupIds()
	if errors.Is(err, fs.ErrNotExist) { // there is no /etc/group
		return gid, []int{gid}, nil
	}
	for _, id := range ids {
		n, parseErr := strconv.Atoi(id)
		err = errors.Join(err, parseErr)
		groups = append(groups, n)
	}
	return gid, groups, err
}
