package e2e

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// OnTerminal runs a command on a new terminal and returns its output.
func OnTerminal(h *Host, args ...string) (screen string, code int) {
	h.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		h.Skipf("NOT TESTED: no terminals here: %v", err)
	}
	defer master.Close()
	fd := int(master.Fd())
	h.Must(unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		h.Skipf("NOT TESTED: no terminals here: %v", err)
	}
	h.Must(unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: 140}))
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		h.Skipf("NOT TESTED: no terminals here: %v", err)
	}
	cmd := h.Command(args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	err = cmd.Start()
	slave.Close()
	h.Must(err)
	shown, _ := io.ReadAll(master) // ends with EIO when the last writer is gone
	_ = cmd.Wait()
	h.SecretFree("terminal", string(shown))
	return string(shown), cmd.ProcessState.ExitCode()
}
