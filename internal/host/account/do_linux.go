package account

import (
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// CanDo is true when this process can work with the permissions of the account.
func (a Account) CanDo() bool { return os.Geteuid() == 0 || os.Geteuid() == a.UID }

// Do runs work with the permissions of the account, as the kernel grants them: modes,
// access lists and mounts count. work must not start goroutines that need them. A process
// that may not change its user runs work as it is.
func (a Account) Do(work func() error) error {
	if os.Geteuid() == a.UID || !a.CanDo() {
		return work()
	}
	done := make(chan error, 1)
	go func() {
		// Permissions belong to a thread. This one is never unlocked, so it ends with the
		// goroutine, and no other goroutine gets it.
		runtime.LockOSThread()
		if err := a.becomeOnThread(); err != nil {
			done <- fmt.Errorf("become user %s: %w", a.Name, err)
			return
		}
		done <- work()
	}()
	return <-done
}

// becomeOnThread changes the user of this thread only, unlike package syscall, which
// changes all.
func (a Account) becomeOnThread() error {
	groups := make([]uint32, len(a.Groups)+1)
	groups[0] = uint32(a.GID)
	for i, gid := range a.Groups {
		groups[i+1] = uint32(gid)
	}
	uid, gid := uintptr(a.UID), uintptr(a.GID)
	for _, call := range [][4]uintptr{
		{unix.SYS_SETGROUPS, uintptr(len(groups)), uintptr(unsafe.Pointer(&groups[0])), 0},
		{unix.SYS_SETRESGID, gid, gid, gid},
		{unix.SYS_SETRESUID, uid, uid, uid},
	} {
		if _, _, errno := unix.RawSyscall(call[0], call[1], call[2], call[3]); errno != 0 {
			return errno
		}
	}
	runtime.KeepAlive(groups)
	return ForbidTracing() // the account could trace this thread, which shares its memory with the others
}
