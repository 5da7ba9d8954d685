package priority

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

const (
	lowest        = 19
	ioWhoThread   = 1       // IOPRIO_WHO_PROCESS
	ioClassIdle   = 3 << 13 // IOPRIO_CLASS_IDLE
	passes        = 2       // a thread that is not lowered yet may start another one meanwhile
	threadsOfSelf = "/proc/self/task"
)

// Lower gives every thread the lowest priority for CPU time, and for the disk where the
// kernel knows one. Threads that start later inherit it. Nothing raises it again.
func Lower() error {
	for range passes {
		threads, err := os.ReadDir(threadsOfSelf)
		if err != nil {
			return err
		}
		for _, thread := range threads {
			id, err := strconv.Atoi(thread.Name())
			if err != nil {
				continue
			}
			if err := unix.Setpriority(unix.PRIO_PROCESS, id, lowest); err != nil && !errors.Is(err, unix.ESRCH) {
				return fmt.Errorf("lower the priority: %w; if a sandbox such as an older systemd unit forbids it, add SystemCallFilter=setpriority ioprio_set", err)
			}
			_, _, _ = unix.Syscall(unix.SYS_IOPRIO_SET, ioWhoThread, uintptr(id), ioClassIdle) // a sandbox may forbid it
		}
	}
	return nil
}
