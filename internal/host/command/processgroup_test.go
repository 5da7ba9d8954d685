package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
)

// callerVariable makes the test binary a caller that waits for a command until it is
// killed.
const callerVariable = "PROCESSGROUP_CALLER"

func TestMain(m *testing.M) {
	if IsSupervisor() {
		beSupervisor()
		os.Exit(Supervise())
	}
	if script := os.Getenv(callerVariable); script != "" {
		c := shell(script)
		c.Stderr = os.Stderr
		fmt.Println(c.Run(context.Background()))
		return
	}
	if file := os.Getenv(hiddenVariable); file != "" {
		hide(file)
	}
	goleak.VerifyTestMain(m)
}

// waiting is a deadline that only a bug reaches.
const waiting = time.Minute

func shell(script string, args ...string) Command {
	return Command{Argv: append([]string{"/bin/sh", "-c", script, "sh"}, args...), Env: os.Environ()}
}

func TestVerdictIsTheExitStatusOfTheCommand(t *testing.T) {
	rows := []struct {
		name   string
		argv   []string
		status int
		signal syscall.Signal
		says   string
	}{
		{"0", []string{"/bin/sh", "-c", "exit 0"}, 0, 0, ""},
		{"3", []string{"sh", "-c", "exit 3"}, 3, 0, "exit status 3"},
		{"a signal", []string{"sh", "-c", "kill -TERM $$"}, 0, syscall.SIGTERM, "terminated"},
		{"a child that fails does not count", []string{"sh", "-c", "false & exit 0"}, 0, 0, ""},
		{"missing", []string{"/no/such/command"}, 0, 0, "no such file"},
		{"not in PATH", []string{"no-such-command"}, 0, 0, "not found in $PATH"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			err := Command{Argv: row.argv, Env: []string{"PATH=" + os.Getenv("PATH")}}.Run(context.Background())
			var exit *ExitError
			if errors.As(err, &exit) && (exit.Status != row.status || exit.Signal != row.signal) {
				t.Errorf("got %+v, want status %d and signal %d", exit, row.status, row.signal)
			}
			if row.says == "" && err != nil || row.says != "" && (err == nil || !strings.Contains(err.Error(), row.says)) {
				t.Errorf("got %v, want %q", err, row.says)
			}
			if (row.status != 0 || row.signal != 0) != (exit != nil) {
				t.Errorf("got %T", err)
			}
		})
	}
}

func TestArgumentsInputAndEnvironmentArePassedAsTheyAre(t *testing.T) {
	t.Setenv("INHERITED", "no")
	var out bytes.Buffer
	c := Command{
		Argv: []string{"/bin/sh", "-c", `printf '%s|' "$1" "$A" "$INHERITED"; cat`, "sh", "a b; $(c) *"},
		Env:  []string{"A=1"}, Stdin: strings.NewReader("input"), Stdout: &out,
	}
	if err := c.Run(context.Background()); err != nil || out.String() != "a b; $(c) *|1||input" {
		t.Errorf("got %q, %v", out.String(), err)
	}
}

// Such as a lock of the script that started the daemon, or the Customer ID in /dev/fd/9.
func TestACommandGetsNoFileThatTheCallerInherited(t *testing.T) {
	const inherited = 99
	if err := unix.Dup3(0, inherited, 0); err != nil { // without O_CLOEXEC
		t.Fatal(err)
	}
	defer unix.Close(inherited)
	if err := shell(`test ! -e /proc/$$/fd/$1`, strconv.Itoa(inherited)).Run(t.Context()); err != nil {
		t.Error(err)
	}
}

// spawning starts processes that outlive their parent: in its group, in a group of their
// own, and in a session of their own. Each writes its pid to the folder $1.
const spawning = `
	sleep 1000 & echo $! > "$1/group"
	setsid sh -c 'echo $$ > "$0/session"; exec sleep 1000' "$1" &
	(setsid sh -c 'setsid sh -c "echo \$\$ > \"$0/twice\"; exec sleep 1000" & exit 0' "$1" &)
	while [ ! -s "$1/group" ] || [ ! -s "$1/session" ] || [ ! -s "$1/twice" ]; do sleep 0.01; done
	: > "$1/ready"
`

// wantGone requires that the processes of spawning have ended.
func wantGone(t *testing.T, dir string) {
	t.Helper()
	for _, name := range []string{"group", "session", "twice"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		pid, convErr := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil || convErr != nil {
			t.Fatal(err, convErr)
		}
		for deadline := time.Now().Add(waiting); syscall.Kill(pid, 0) == nil; time.Sleep(time.Millisecond) {
			if isZombie(pid) {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("the process of %q is still running", name)
			}
		}
	}
}

func isZombie(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && bytes.Contains(stat, []byte(") Z "))
}

func TestWhatACommandLeavesRunningIsKilledWhenItEnds(t *testing.T) {
	for _, status := range []string{"0", "4"} {
		dir := t.TempDir()
		err := shell(spawning+"exit $2", dir, status).Run(context.Background())
		if (status == "0") != (err == nil) {
			t.Errorf("exit %s: %v", status, err)
		}
		wantGone(t, dir)
	}
}

func TestTimeoutKillsEverything(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancelCause(context.Background())
	go func() {
		for range time.Tick(time.Millisecond) {
			if _, err := os.Stat(filepath.Join(dir, "ready")); err == nil {
				cancel(ErrTimeout)
				return
			}
		}
	}()
	if err := shell(spawning+"trap '' TERM INT HUP; while :; do sleep 1; done", dir).Run(ctx); !errors.Is(err, ErrTimeout) {
		t.Errorf("got %v", err)
	}
	wantGone(t, dir)
	c := shell("sleep 1000")
	c.Timeout = time.Millisecond
	if err := c.Run(context.Background()); !errors.Is(err, ErrTimeout) || !strings.Contains(err.Error(), "1ms") {
		t.Errorf("got %v", err)
	}
}

func TestNothingOutlivesAKilledCaller(t *testing.T) {
	dir := t.TempDir()
	exe, err := os.Executable()
	must(t, err)
	caller := exec.Command(exe)
	caller.Env = append(os.Environ(), callerVariable+"=set -- "+dir+spawning+"sleep 1000")
	must(t, caller.Start())
	wantFile(t, filepath.Join(dir, "ready"))
	must(t, caller.Process.Kill())
	_ = caller.Wait() // it was killed
	wantGone(t, dir)
}

// The kernel kills a supervisor when memory is short. Other commands go on.
func TestNothingOutlivesAKilledSupervisor(t *testing.T) {
	other := t.TempDir()
	var group errgroup.Group
	group.Go(func() error {
		return shell(`: >"$1/ready"; until [ -e "$1/done" ]; do sleep 0.01; done`, other).Run(t.Context())
	})
	wantFile(t, filepath.Join(other, "ready"))
	for _, result := range []string{"", `echo '{"status":0}' >/proc/$PPID/fd/4;`} { // which a command can forge
		dir := t.TempDir()
		var out strings.Builder // the orphans keep its pipe open
		c := shell(spawning+result+"kill -9 $PPID; sleep 1000", dir)
		c.Stdout = &out
		var exit *ExitError
		if err := c.Run(t.Context()); err == nil || errors.As(err, &exit) {
			t.Errorf("got %v", err)
		}
		wantGone(t, dir)
	}
	must(t, os.WriteFile(filepath.Join(other, "done"), nil, 0o600))
	if err := group.Wait(); err != nil {
		t.Errorf("the other command: %v", err)
	}
}

// Each Run looks for orphans at its end, and the supervisors of others are none.
func TestCommandsThatRunAtOnceLeaveEachOtherAlone(t *testing.T) {
	var group errgroup.Group
	for range 8 {
		group.Go(func() error {
			for range 5 {
				if err := shell("exit 0").Run(t.Context()); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
}

func wantFile(t *testing.T, name string) {
	t.Helper()
	for deadline := time.Now().Add(waiting); ; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(name); err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s does not appear", name)
		}
	}
}

func TestLongOutputTakesLittleMemory(t *testing.T) {
	var tail Tail
	c := shell(`head -c 104857600 /dev/zero | tr '\0' 'x'; echo; echo last but one; echo; echo "last" >&2`)
	c.Stdout, c.Stderr = &tail, &tail
	must(t, c.Run(context.Background()))
	lines := tail.Lines()
	if n := len(lines); n < 2 || !strings.Contains(strings.Join(lines, "\n"), "last but one") || len(tail.last) > 2*tailBytes || cap(tail.last) > 8*tailBytes {
		t.Errorf("%d lines, %d bytes: %q", n, cap(tail.last), lines)
	}
}

// `systemctl kill -s` reaches the supervisor and the command, too.
func TestACommandOutlivesTheSignalsOfTheDaemon(t *testing.T) {
	var out strings.Builder
	c := shell("kill -USR1 $PPID $$; kill -HUP $PPID $$; sleep 0.1; echo alive")
	c.Stdout = &out
	if err := c.Run(t.Context()); err != nil || out.String() != "alive\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
}
