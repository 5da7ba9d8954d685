package patches

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"

	"syncd/internal/disk/directio"
	"syncd/internal/disk/durable"
	"syncd/internal/disk/fsops"
	"syncd/internal/downstream/patch"
	"syncd/internal/host/priority"
)

// workerName is the first argument of a worker. No user starts a program by it.
const workerName = "syncd-patches"

// workerEnv is the environment of a worker. One processor is one worker of package patch, and
// the limit leaves room for the program's own pages below 64 MiB.
var workerEnv = []string{"GOMAXPROCS=1", "GOMEMLIMIT=40MiB", "GOGC=50"}

// job is one line of a worker's input.
type job struct {
	Old, New part
	To       string // path of the file that it makes
	Most     int64  // bytes of a patch that is of use
}

// part is a content and the path of the file that has it, "" for the empty one.
type part struct {
	patch.Identity
	File string
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
	signal.Ignore() // those for the daemon reach every process of its unit, and the daemon ends its workers
	if err := priority.Lower(); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	jobs := make(chan job)
	go func() {
		defer stop() // the daemon is gone, or wants an end
		defer close(jobs)
		for input := json.NewDecoder(os.Stdin); ; {
			var j job
			if input.Decode(&j) != nil {
				return
			}
			jobs <- j
		}
	}()
	for j := range jobs {
		if json.NewEncoder(os.Stdout).Encode(do(ctx, j)) != nil || ctx.Err() != nil {
			return 1
		}
	}
	return 0
}

// errUseless ends a patch that has become too large.
var errUseless = errors.New("the patch is not worth keeping")

func do(ctx context.Context, j job) made {
	size, err := j.make(ctx)
	switch {
	case errors.Is(err, errUseless):
		return made{Size: j.Most, Useless: true}
	case err != nil:
		return made{Error: err.Error(), IsFull: fsops.IsFull(err)}
	}
	return made{Size: size}
}

// make writes a patch and makes its bytes durable.
func (j job) make(ctx context.Context) (size int64, err error) {
	before, err := j.Old.open()
	if err != nil {
		return 0, err
	}
	defer before.Close()
	after, err := j.New.open()
	if err != nil {
		return 0, err
	}
	defer after.Close()
	if j.Old.File == "" {
		if hopeless, err := isHopeless(after, j.New.Size, j.Most); hopeless || err != nil {
			return 0, errors.Join(err, hopelessError(hopeless))
		}
	}
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
	p, err := patch.Make(ctx, patch.Content{ReaderAt: before, Identity: j.Old.Identity}, patch.Content{ReaderAt: after, Identity: j.New.Identity}, limited{to, j.Most})
	if err != nil {
		return 0, err
	}
	return p.Size(), durable.SyncFile(to)
}

func hopelessError(is bool) error {
	if is {
		return errUseless
	}
	return nil
}

// limited ends a patch that has become too large.
type limited struct {
	*os.File
	most int64
}

func (l limited) WriteAt(b []byte, at int64) (int, error) {
	if at+int64(len(b)) >= l.most {
		return 0, errUseless
	}
	return l.File.WriteAt(b, at)
}

// file is a content on disk, read without a change of the page cache.
type file struct{ *os.File }

func (p part) open() (f file, err error) {
	if p.File != "" {
		f.File, _, err = fsops.OpenRegular(p.File)
	}
	return f, err
}

func (f file) ReadAt(b []byte, at int64) (int, error) {
	if f.File == nil { // the empty content
		return 0, io.EOF
	}
	return directio.ReadAt(f.File, b, at)
}

func (f file) Close() error {
	if f.File == nil {
		return nil
	}
	return f.File.Close()
}

// samples and sampleSize make 1 MiB of a content.
const samples, sampleSize = 16, 64 << 10

// isHopeless is true if samples of a content say that its compressed form has too many bytes.
func isHopeless(f file, size, most int64) (bool, error) {
	if size < 4*samples*sampleSize {
		return false, nil // all of it takes no longer
	}
	var packed int64
	buffer := make([]byte, sampleSize)
	for i := range int64(samples) {
		if _, err := f.ReadAt(buffer, (size-sampleSize)/(samples-1)*i); err != nil {
			return false, err
		}
		n, err := patch.Compressed(context.Background(), bytes.NewReader(buffer))
		if err != nil {
			return false, err
		}
		packed += n
	}
	// A sample compresses worse than the whole.
	return float64(packed)/float64(samples*sampleSize)*0.9 > float64(most)/float64(size), nil
}

// worker is a process that makes patches.
type worker struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *json.Decoder
}

func startWorker() (*worker, error) {
	program, err := os.Executable()
	if runtime.GOOS == "linux" { // an update may have replaced the file
		program, err = "/proc/self/exe", nil
	}
	if err != nil {
		return nil, err
	}
	w := &worker{cmd: &exec.Cmd{Path: program, Args: []string{workerName}, Env: workerEnv, Stderr: os.Stderr}}
	if w.in, err = w.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	w.out = json.NewDecoder(out)
	if err := w.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the process that makes patches: %w", err)
	}
	return w, nil
}

// make has a patch made. When the context ends, the worker is killed and of no use any more.
func (w *worker) make(ctx context.Context, j job) (size int64, err error) {
	defer context.AfterFunc(ctx, w.kill)()
	var m made
	err = json.NewEncoder(w.in).Encode(j)
	if err == nil {
		err = w.out.Decode(&m)
	}
	switch {
	case ctx.Err() != nil:
		return 0, context.Cause(ctx)
	case err != nil:
		return 0, fmt.Errorf("%w: %w", errWorker, err)
	case m.Useless:
		return m.Size, errUseless
	case m.IsFull:
		return 0, errNoRoom
	case m.Error != "":
		return 0, errors.New(m.Error)
	}
	return m.Size, nil
}

// errWorker says that a worker ended or makes no sense.
var errWorker = errors.New("the process that makes patches ended")

func (w *worker) kill() { _ = w.cmd.Process.Kill() }

// close ends a worker.
func (w *worker) close() {
	_ = w.in.Close()
	w.kill()
	_ = w.cmd.Wait()
}
