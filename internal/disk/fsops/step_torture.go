//go:build torture

package fsops

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

const hasTorture = true

// Environment variables of a build with the tag torture. SYNCD_STEP is N:FAULT, for
// the N-th step of the process. FAULT is one of
//
//	kill-before, kill-after   the process ends as by kill -9
//	fail-lost[:ERRNO]         the step fails and changes nothing
//	fail-stored[:ERRNO]       the step fails although its change is made
//
// ERRNO is a number, EIO by default. SYNCD_STEPS names a file that gets one line
// for each step: number, operation, path. SYNCD_STEP_EINVAL=1 makes every fsync of
// a directory fail with EINVAL. SYNCD_STEP_NOFSYNC=1 leaves out every fsync, which
// proves that the tests of power cuts can fail.
const (
	stepVariable   = "SYNCD_STEP"
	traceVariable  = "SYNCD_STEPS"
	einvalVariable = "SYNCD_STEP_EINVAL"
	lossVariable   = "SYNCD_STEP_NOFSYNC"
)

// NoFsync is true in a process that must not fsync.
var NoFsync = os.Getenv(lossVariable) != ""

var steps struct {
	sync.Mutex
	count int
}

// Step counts one change to the file system, and kills the process or fails where
// the environment asks for it.
func Step(op, path string, change func() error) error {
	steps.Lock()
	steps.count++
	number := steps.count
	trace(number, op, path)
	steps.Unlock()
	if NoFsync && (op == "fsync" || op == "fsync-dir" || op == "syncfs") {
		return nil
	}
	if op == "fsync-dir" && os.Getenv(einvalVariable) != "" {
		return &fs.PathError{Op: op, Path: path, Err: syscall.EINVAL}
	}
	at, spec, _ := strings.Cut(os.Getenv(stepVariable), ":")
	if at != strconv.Itoa(number) {
		return change()
	}
	kind, errno, _ := strings.Cut(spec, ":")
	return fault(kind, errno, op, path, change)
}

func fault(kind, errno, op, path string, change func() error) error {
	cause := syscall.EIO
	if n, err := strconv.Atoi(errno); err == nil {
		cause = syscall.Errno(n)
	}
	failed := &fs.PathError{Op: op, Path: path, Err: cause}
	switch kind {
	case "kill-before":
		kill()
	case "kill-after":
		err := change()
		kill()
		return err
	case "fail-lost":
		return failed
	case "fail-stored":
		return errors.Join(failed, change())
	}
	panic("fsops: " + stepVariable + " asks for " + kind)
}

func kill() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {} // until the signal arrives
}

func trace(number int, op, path string) {
	name := os.Getenv(traceVariable)
	if name == "" {
		return
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	if _, err := fmt.Fprintln(f, number, op, path); err != nil {
		panic(err)
	}
}
