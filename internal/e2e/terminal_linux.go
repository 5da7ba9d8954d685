package e2e

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Terminal is a command on a new terminal, which is its controlling one.
type Terminal struct {
	*Host
	cmd    *exec.Cmd
	master *os.File
	screen Buffer
	ended  chan struct{}
}

// StartOnTerminal starts a command on a new terminal.
func StartOnTerminal(h *Host, args ...string) *Terminal {
	h.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		h.Skipf("NOT TESTED: no terminals here: %v", err)
	}
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
	t := &Terminal{Host: h, cmd: h.Command(args...), master: master, ended: make(chan struct{})}
	t.cmd.Stdin, t.cmd.Stdout, t.cmd.Stderr = slave, slave, slave
	if t.cmd.SysProcAttr == nil {
		t.cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	t.cmd.SysProcAttr.Setsid, t.cmd.SysProcAttr.Setctty = true, true
	err = t.cmd.Start()
	slave.Close()
	h.Must(err)
	go func() {
		defer close(t.ended)
		_, _ = io.Copy(&t.screen, master) // ends with EIO when the last writer is gone
	}()
	h.T.Cleanup(func() {
		_ = t.cmd.Process.Kill() // unless it has ended
		master.Close()
	})
	return t
}

// Shows waits for a text on the terminal.
func (t *Terminal) Shows(text string) {
	t.Helper()
	t.Eventually(fmt.Sprintf("%q on the terminal", text), func() bool { return strings.Contains(t.screen.String(), text) })
}

// Types writes what a person types.
func (t *Terminal) Types(text string) {
	t.Helper()
	_, err := t.master.WriteString(text)
	t.Must(err)
}

// Wait returns all that the terminal showed, and the exit code.
func (t *Terminal) Wait() (screen string, code int) {
	t.Helper()
	<-t.ended
	_ = t.cmd.Wait()
	t.SecretFree("terminal", t.screen.String())
	return t.screen.String(), t.cmd.ProcessState.ExitCode()
}

// OnTerminal runs a command on a new terminal and returns its output.
func OnTerminal(h *Host, args ...string) (screen string, code int) {
	h.Helper()
	return StartOnTerminal(h, args...).Wait()
}
