package election

import (
	"time"

	"golang.org/x/sys/unix"
)

// uptime goes on while the process is stopped and while the machine sleeps.
func uptime() time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		panic(err) // only for a clock that the kernel does not have
	}
	return time.Duration(now.Nano())
}
