//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"

	"golang.org/x/sys/unix"
)

// terminal is the master of a pseudo terminal.
type terminal struct {
	*os.File
	slave *os.File
}

func openTerminal() (*terminal, error) {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	slave, err := openSlave(master)
	if err != nil {
		master.Close()
		return nil, err
	}
	return &terminal{master, slave}, nil
}

func openSlave(master *os.File) (*os.File, error) {
	fd := int(master.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		return nil, err
	}
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		return nil, err
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: columns}); err != nil {
		return nil, err
	}
	return os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
}

// start starts a command on the terminal, which ends with its last program.
func (t *terminal) start(cmd *exec.Cmd) error {
	cmd.Stdin, cmd.Stdout, cmd.Stderr = t.slave, t.slave, t.slave
	defer t.slave.Close()
	return cmd.Start()
}

// isHangup tells that no program has the terminal open any longer.
func isHangup(err error) bool { return errors.Is(err, unix.EIO) }
