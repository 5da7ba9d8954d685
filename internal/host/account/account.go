package account

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"slices"
	"strconv"
	"syscall"
)

// ErrNoGroup is the cause of the error for a group that does not exist.
var ErrNoGroup = errors.New("there is no group")

// Account is a user with groups.
type Account struct {
	Name   string // or the number of a user without a name
	UID    int
	GID    int
	Groups []int
}

// Self is the user of this process.
func Self() Account {
	groups, _ := os.Getgroups() // it is only shown
	return Account{Name: nameOf(os.Geteuid()), UID: os.Geteuid(), GID: os.Getegid(), Groups: groups}
}

// Anybody is a user who owns nothing: what it may read, every user may read.
func Anybody() Account { return Account{Name: "nobody", UID: nobody, GID: nobody} }

// nobody is the id that the kernel keeps for a user without any other id.
const nobody = 65534

func nameOf(uid int) string {
	if found, err := user.LookupId(strconv.Itoa(uid)); err == nil {
		return found.Username
	}
	return strconv.Itoa(uid)
}

// Named returns a user by name or number.
func Named(name string) (Account, error) {
	found, err := user.Lookup(name)
	if err != nil {
		if uid, notNumber := strconv.Atoi(name); notNumber == nil && uid >= 0 {
			return of(uid, uid)
		}
		return Account{}, fmt.Errorf("there is no user %q", name)
	}
	uid, err := strconv.Atoi(found.Uid)
	if err != nil {
		return Account{}, err
	}
	return of(uid, uid)
}

// OwnerOf returns the owner of a file or folder.
func OwnerOf(info fs.FileInfo) (Account, error) {
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return Self(), nil
	}
	return of(int(owner.Uid), int(owner.Gid))
}

func of(uid, folderGID int) (Account, error) {
	gid, groups, err := groupsOf(uid, folderGID)
	if err != nil {
		return Account{}, fmt.Errorf("groups of user %d: %w", uid, err)
	}
	return Account{Name: nameOf(uid), UID: uid, GID: gid, Groups: groups}, nil
}

// WithGroups returns the account with further groups, by name or number.
func (a Account) WithGroups(names ...string) (Account, error) {
	a.Groups = slices.Clone(a.Groups)
	for _, name := range names {
		id := name
		if found, err := user.LookupGroup(name); err == nil {
			id = found.Gid
		}
		gid, err := strconv.Atoi(id)
		if err != nil {
			return a, fmt.Errorf("%w %q", ErrNoGroup, name)
		}
		a.Groups = append(a.Groups, gid)
	}
	return a, nil
}

// groupsOf returns the user's own primary group, and all groups. It does not take the
// folder's group from a user with an account: in a setgid folder anyone can make a
// folder with a group that is not his own. A uid without an account, as in a
// container, has no group of its own and gets the folder's group.
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
