package account

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"
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
	done, thread := make(chan error, 1), make(chan int, 1)
	go a.onThread(work, thread, done)
	err := <-done
	if end := waitForEnd(<-thread); end != nil {
		return errors.Join(err, end)
	}
	return err
}

// onThread runs work on a thread of its own, which ends with the goroutine, because it is never
// unlocked: no other goroutine gets it.
func (a Account) onThread(work func() error, thread chan<- int, done chan<- error) {
	runtime.LockOSThread() // permissions belong to a thread
	if unix.Gettid() == os.Getpid() {
		// The first thread of a process does not end. Keep it from the goroutine that does the work.
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			a.onThread(work, thread, done)
		}()
		<-ended
		runtime.UnlockOSThread()
		return
	}
	thread <- unix.Gettid()
	if err := a.becomeOnThread(); err != nil {
		done <- fmt.Errorf("become user %s: %w", a.Name, err)
		return
	}
	done <- work()
}

// threadPatience is how long a thread may take to end, on a very busy machine.
const threadPatience = 30 * time.Second

// waitForEnd waits until a thread is gone. Package syscall changes the user of all threads, and
// ends the process if one of them, which has another user, cannot follow.
func waitForEnd(thread int) error {
	for began := time.Now(); !errors.Is(unix.Tgkill(os.Getpid(), thread, 0), unix.ESRCH); time.Sleep(50 * time.Microsecond) {
		if time.Since(began) > threadPatience {
			return errors.New("a thread with the permissions of another user does not end")
		}
	}
	return nil
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
