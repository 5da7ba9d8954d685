//go:build !linux

package command

import (
	"context"
	"fmt"
)

// Run refuses: only Linux can kill everything that a command started.
func (Command) Run(context.Context) error {
	return fmt.Errorf("%w: gates and hooks run commands on Linux only: remove them from the configuration, or run syncd in a Linux container", ErrSupervisor)
}

// IsSupervisor is false: there are none.
func IsSupervisor() bool { return false }

// Supervise is never called.
func Supervise() int { return 1 }
