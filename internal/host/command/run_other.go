//go:build !linux

package command

import (
	"context"
	"fmt"
	"os"
	"os/exec"
)

// Run refuses: only Linux can kill everything that a command started.
func (Command) Run(context.Context) error {
	return fmt.Errorf("%w: gates and hooks run commands on Linux only: remove them from the configuration, or run syncd in a Linux container", ErrSupervisor)
}

// IsSupervisor is false: there are none.
func IsSupervisor() bool { return false }

// Supervise is never called.
func Supervise() int { return 1 }

// StartSelf starts this program again, for work of its own that its first argument names. ended
// must be called after cmd.Wait. Only on Linux is the process kept from its user.
func StartSelf(cmd *exec.Cmd) (ended func(), err error) {
	if cmd.Path, err = os.Executable(); err != nil {
		return nil, err
	}
	return func() {}, cmd.Start()
}

// Protect does nothing.
func Protect() error { return nil }
