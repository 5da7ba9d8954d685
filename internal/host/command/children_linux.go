package command

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// children lists the children of this process.
func children() (pids []int) {
	// A mount of /proc with hidepid, as for ProtectProc=, hides processes that make
	// themselves untraceable. They are in the lists of their parent's threads, which are
	// missing in kernels without CONFIG_PROC_CHILDREN.
	lists, _ := filepath.Glob("/proc/self/task/*/children")
	for _, list := range lists {
		text, _ := os.ReadFile(list) // fails when the thread has just ended: its children move to another
		for word := range strings.FieldsSeq(string(text)) {
			if pid, err := strconv.Atoi(word); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	// Those lists can leave a child out while others end.
	own := strconv.Itoa(os.Getpid())
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || slices.Contains(pids, pid) {
			continue
		}
		stat, err := os.ReadFile("/proc/" + entry.Name() + "/stat")
		if err != nil {
			continue
		}
		// The name of the program, in parentheses, can hold anything.
		text := string(stat)
		if fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:]); len(fields) > 1 && fields[1] == own {
			pids = append(pids, pid)
		}
	}
	return pids
}

// registry holds what StartSelf has started. A process is of this program only if it stands
// here: every command can choose its name and arguments.
type registry struct {
	mu   sync.Mutex // held while a process is started and while orphans are killed
	pids map[int]bool
}

// own are the processes of StartSelf. All calls of Run know them, because each of them sees
// all children.
var own = registry{pids: map[int]bool{}}

// start starts a process, from a thread without the keys of who started syncd.
func (r *registry) start(cmd *exec.Cmd) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := leaveKeys()
	if err == nil {
		err = cmd.Start()
	}
	if err == nil {
		r.pids[cmd.Process.Pid] = true
	}
	return err
}

// remove forgets a process that was waited for.
func (r *registry) remove(pid int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.pids, pid)
}

// killOrphans waits for the end of a supervisor, and kills the processes that it left. It
// leaves some only if it was killed itself, such as by the kernel when memory was short. This
// process is a subreaper, too, so the orphans are its children.
func (s *supervisor) killOrphans() {
	_ = unix.Waitid(unix.P_PID, s.cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil) // Wait below tells its error
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if !own.killOrphans() {
			return
		}
	}
}

// killOrphans is false when there are no orphans. An orphan was started in a session that a
// supervisor began. A child in the session of this process is its own work, such as a
// program of the operating system.
func (r *registry) killOrphans() (some bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	here, err := unix.Getsid(0)
	if err != nil {
		return false
	}
	for _, pid := range children() {
		if session, err := unix.Getsid(pid); err != nil || session == here || r.pids[pid] {
			continue
		}
		some = true
		_ = syscall.Kill(pid, syscall.SIGKILL)               // fails when it has just ended
		_, _ = syscall.Wait4(pid, nil, syscall.WNOHANG, nil) // the next round sees a failure
	}
	return some
}
