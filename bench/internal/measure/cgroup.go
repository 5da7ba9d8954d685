package measure

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// ErrNoCgroup means that a case with limited memory cannot run.
var ErrNoCgroup = errors.New("cannot limit memory: this needs root and a memory cgroup")

// Cgroup limits the memory of processes, page cache included.
type Cgroup struct{ dir string }

// NewCgroup makes a memory cgroup with a limit in bytes.
func NewCgroup(limit int64) (Cgroup, error) {
	parent, limitFile := "/sys/fs/cgroup/memory", "memory.limit_in_bytes"
	if _, err := os.Stat(parent); err != nil { // version 2
		parent, limitFile = "/sys/fs/cgroup", "memory.max"
	}
	dir, err := os.MkdirTemp(parent, "syncd-bench-")
	if err != nil {
		return Cgroup{}, fmt.Errorf("%w: %w", ErrNoCgroup, err)
	}
	c := Cgroup{dir}
	if err := os.WriteFile(filepath.Join(dir, limitFile), fmt.Append(nil, limit), 0); err != nil {
		return Cgroup{}, fmt.Errorf("%w: %w", ErrNoCgroup, errors.Join(err, c.Remove()))
	}
	return c, nil
}

// Inside returns cmd as a command that runs in the cgroup. Its process id stays that of
// the program, because the shell enters the cgroup before it executes the program.
func (c Cgroup) Inside(cmd *exec.Cmd) *exec.Cmd {
	enter := []string{"-c", `echo $$ > "$0" && exec "$@"`, filepath.Join(c.dir, "cgroup.procs")}
	inside := exec.Command("sh", append(append(enter, cmd.Path), cmd.Args[1:]...)...)
	inside.Dir, inside.Env = cmd.Dir, cmd.Env
	return inside
}

// Remove removes the cgroup. The kernel may keep it busy for a moment after its last
// process.
func (c Cgroup) Remove() (err error) {
	for range 100 {
		if err = os.Remove(c.dir); err == nil {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return err
}
