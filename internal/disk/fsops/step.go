//go:build !torture

package fsops

// hasTorture is true in a build with the tag torture.
const hasTorture = false

// NoFsync is true in a process of a build with the tag torture that must not fsync.
const NoFsync = false

// Step makes one change to the file system. op and path name it in a build with
// the tag torture, which can kill the process or fail at any one step.
func Step(_, _ string, change func() error) error { return change() }
