package patches

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// strangerVariable has this test's program start a worker, and look at it as another program of
// its user would.
const strangerVariable = "PATCHES_STRANGER"

func init() {
	if os.Getenv(strangerVariable) != "" { // a worker has none of its starter's variables
		lookAtAWorker()
		os.Exit(0)
	}
}

// lookAtAWorker tells all that can be had of a worker that is at work.
func lookAtAWorker() {
	w, err := startWorker()
	if err == nil {
		_, err = w.make(context.Background(), job{New: Part{File: "/missing"}}, false) // it has begun once it refuses
	}
	here, hereErr := unix.Getsid(0)
	there, thereErr := unix.Getsid(w.cmd.Process.Pid)
	if err == nil || hereErr != nil || thereErr != nil || here == there {
		fmt.Println("the worker is in session", there, "and this program in", here, err, hereErr, thereErr)
	}
	for _, name := range []string{"environ", "auxv"} {
		if text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", w.cmd.Process.Pid, name)); err == nil {
			fmt.Printf("%s: %q\n", name, text)
		}
	}
	open, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", w.cmd.Process.Pid))
	for _, fd := range open {
		fmt.Println("open:", fd.Name())
	}
	fmt.Println("says:", w.close())
}

// TestAWorkerIsKeptFromItsUser starts one as root does who has become another user: nothing of
// root's terminal and files reaches the worker, which that user's programs cannot trace.
func TestAWorkerIsKeptFromItsUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("NOT TESTED: only root can become another user")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(exe) // the test's folder is root's
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	cmd := exec.Command("/proc/self/fd/3")
	cmd.ExtraFiles = []*os.File{file}
	cmd.Env = append(os.Environ(), strangerVariable+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 23456, Gid: 23456}}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatal(err, errs.String())
	}
	if out.String() != "says: []\n" || errs.Len() > 0 {
		t.Errorf("%s%s", out.String(), errs.String())
	}
}

// TestAWorkerInheritsNoFile leaves a file open as a shell can.
func TestAWorkerInheritsNoFile(t *testing.T) {
	const left = 99
	if err := unix.Dup3(0, left, 0); err != nil { // without O_CLOEXEC
		t.Fatal(err)
	}
	defer unix.Close(left)
	w, err := startWorker()
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	for _, fd := range []int{2, left} {
		own, _ := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
		its, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", w.cmd.Process.Pid, fd))
		if err == nil && its == own && !strings.HasPrefix(own, "/dev/null") || fd == left && err == nil {
			t.Errorf("the worker has descriptor %d, %s", fd, its)
		}
	}
}

// Root may have started syncd in a folder that its owner may not reach.
func TestAWorkerHasNotTheFolderInWhichSyncdWasStarted(t *testing.T) {
	t.Chdir(t.TempDir())
	w, err := startWorker()
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	if dir, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", w.cmd.Process.Pid)); err != nil || dir != "/" {
		t.Errorf("the worker is in %q, %v", dir, err)
	}
}
