package patches

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"sync"

	"syncd/internal/disk/durable"
	"syncd/internal/disk/fsops"
	"syncd/internal/host/command"
	"syncd/internal/host/priority"
)

// workerName is the first argument of a worker. No user starts a program by it.
const workerName = "syncd-patches"

// workerEnv is the environment of a worker. One processor is one worker of package patch, and
// the limit leaves room for the program's own pages below 64 MiB.
var workerEnv = []string{"GOMAXPROCS=1", "GOMEMLIMIT=40MiB", "GOGC=50"}

// order is one line of a worker's input.
type order struct {
	Job  *job `json:",omitempty"` // a new one
	Slow bool // a sync writes meanwhile: see pace
}

// job is the making of one patch.
type job struct {
	Old, New Part
	To       string // path of the file that it makes
	Most     int64  // bytes of a patch that is of use
}

// made is one line of a worker's output.
type made struct {
	Size    int64  // of the patch; Most if it has that or more
	Useless bool   // it has that or more
	Error   string // "" for none
	IsFull  bool   // the disk is
}

// IsWorker is true in a process that a Maker started.
func IsWorker() bool { return len(os.Args) == 1 && os.Args[0] == workerName }

// Work makes patches until the input ends. It is all that a worker does: the caller exits with
// what it returns.
func Work() (code int) {
	if err := command.Protect(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	signal.Ignore() // those for the daemon reach every process of its unit, and the daemon ends its workers
	if err := priority.Lower(); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	jobs := make(chan job)
	var p pace
	go func() {
		defer stop() // the daemon is gone, or wants an end
		defer close(jobs)
		for input := json.NewDecoder(os.Stdin); ; {
			var o order
			if input.Decode(&o) != nil {
				return
			}
			p.slow.Store(o.Slow)
			if o.Job != nil {
				jobs <- *o.Job
			}
		}
	}()
	for j := range jobs {
		if json.NewEncoder(os.Stdout).Encode(do(ctx, j, &p)) != nil || ctx.Err() != nil {
			return 1
		}
	}
	return 0
}

func do(ctx context.Context, j job, p *pace) made {
	size, err := j.make(ctx, p)
	switch {
	case errors.Is(err, ErrUseless):
		return made{Size: j.Most, Useless: true}
	case err != nil:
		return made{Error: err.Error(), IsFull: fsops.IsFull(err)}
	}
	return made{Size: size}
}

// make writes a patch and makes its bytes durable.
func (j job) make(ctx context.Context, p *pace) (size int64, err error) {
	folder, err := fsops.OpenDir(filepath.Dir(j.To))
	if err != nil {
		return 0, err
	}
	defer folder.Close()
	to, err := folder.OpenFile(filepath.Base(j.To), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return 0, err
	}
	defer to.Close()
	size, err = p.make(ctx, j.Old, j.New, j.Most, to)
	if err != nil {
		return 0, err
	}
	return size, durable.SyncFile(to)
}

// worker is a process that makes patches.
type worker struct {
	cmd   *exec.Cmd
	mu    sync.Mutex // held while writing to in
	in    io.WriteCloser
	out   *json.Decoder
	says  command.Tail // what it writes for people; nothing if all is well
	ended func()       // call it after cmd.Wait
}

func startWorker() (*worker, error) {
	w := &worker{cmd: &exec.Cmd{Args: []string{workerName}, Env: workerEnv}}
	w.cmd.Stderr = &w.says
	var err error
	if w.in, err = w.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	w.out = json.NewDecoder(out)
	if w.ended, err = command.StartSelf(w.cmd); err != nil {
		return nil, fmt.Errorf("%w: %w", errStart, err)
	}
	return w, nil
}

// make has a patch made. When the context ends, the worker is killed and of no use any more.
func (w *worker) make(ctx context.Context, j job, slow bool) (size int64, err error) {
	defer context.AfterFunc(ctx, w.kill)()
	var m made
	err = w.tell(order{Job: &j, Slow: slow})
	if err == nil {
		err = w.out.Decode(&m)
	}
	switch {
	case ctx.Err() != nil:
		return 0, context.Cause(ctx)
	case err != nil:
		return 0, fmt.Errorf("%w: %w", errWorker, err)
	case m.Useless:
		return m.Size, ErrUseless
	case m.IsFull:
		return 0, errNoRoom
	case m.Error != "":
		return 0, errors.New(m.Error)
	}
	return m.Size, nil
}

// tell writes a line of input. Safe for concurrent use.
func (w *worker) tell(o order) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return json.NewEncoder(w.in).Encode(o)
}

// errStart says that no worker can be started.
var errStart = errors.New("the process that makes patches cannot be started")

// errWorker says that a worker ended or makes no sense.
var errWorker = errors.New("the process that makes patches ended")

func (w *worker) kill() { _ = w.cmd.Process.Kill() }

// close ends a worker, and returns the last lines that it wrote for people.
func (w *worker) close() []string {
	_ = w.in.Close()
	w.kill()
	_ = w.cmd.Wait()
	w.ended()
	return w.says.Lines()
}
