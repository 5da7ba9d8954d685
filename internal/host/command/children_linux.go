package command

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// process is a child of this process.
type process struct {
	pid      int
	program  string // as the kernel shows it
	hasEnded bool   // nobody has waited for it yet
}

// children lists the children of this process.
func children() (found []process) {
	entries, _ := os.ReadDir("/proc")
	own := strconv.Itoa(os.Getpid())
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + entry.Name() + "/stat")
		if err != nil {
			continue
		}
		// The name of the program, in parentheses, can hold anything.
		text := string(stat)
		end := strings.LastIndexByte(text, ')')
		if fields := strings.Fields(text[end+1:]); len(fields) > 1 && fields[1] == own {
			_, program, _ := strings.Cut(text[:end], "(")
			found = append(found, process{pid: pid, program: program, hasEnded: fields[0] == "Z"})
		}
	}
	return found
}

// isSupervisor is true for a supervisor that another call of Run started. args are those of
// the process; it has none once it has ended.
func (p process) isSupervisor(args string) bool {
	return p.program == "exe" && (args == "" || strings.HasPrefix(args, name+"\x00")) // of /proc/self/exe
}

// killOrphans waits for the end of a supervisor, and kills the processes that it left. It
// leaves some only if it was killed itself, such as by the kernel when memory was short. This
// process is a subreaper, too, so the orphans are its children. Its other children are
// supervisors.
func (s *supervisor) killOrphans() {
	pid := s.cmd.Process.Pid
	_ = unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil) // Wait below tells its error
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if !killChildren(pid) {
			return
		}
	}
}

// killChildren is false when no child is left but supervisors.
func killChildren(supervisor int) (some bool) {
	syscall.ForkLock.RLock() // a child that is no other program yet is no orphan
	defer syscall.ForkLock.RUnlock()
	for _, p := range children() {
		text, _ := os.ReadFile("/proc/" + strconv.Itoa(p.pid) + "/cmdline")
		args := string(text)
		if p.pid == supervisor || p.isSupervisor(args) {
			continue
		}
		some = true
		if args == "" && !p.hasEnded { // it has just ended, or becomes a supervisor: look again
			continue
		}
		_ = syscall.Kill(p.pid, syscall.SIGKILL)               // fails when it has just ended
		_, _ = syscall.Wait4(p.pid, nil, syscall.WNOHANG, nil) // the next round sees a failure
	}
	return some
}
