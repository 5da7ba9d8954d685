//go:build !linux && !windows

package account

// Do runs work as this process: elsewhere, permissions belong to a process and not to a thread.
func (Account) Do(work func() error) error { return work() }
