package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// daemon is `syncd run` with its log.
type daemon struct {
	process *process
	dir     string
	address string // of its web server
	log     io.ReadCloser
	lines   *bufio.Scanner
}

// event is a line of the log.
type event struct {
	Message, Address string
	Changed          bool
	Seconds          float64
}

// startDaemon returns when the daemon listens.
func (b bench) startDaemon(ctx context.Context, s *served, more string) (*daemon, error) {
	dir, err := os.MkdirTemp(b.work, "run-")
	if err != nil {
		return nil, err
	}
	path, err := writeConfig(s, dir, more)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(b.syncd, "--config", path, "run")
	cmd.Env = append(os.Environ(), "NOTIFY_SOCKET=")
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stderr = writer
	p, err := startProcess(ctx, cmd)
	writer.Close()
	if err != nil {
		return nil, err
	}
	d := &daemon{process: p, dir: dir, log: reader, lines: bufio.NewScanner(reader)}
	e, err := d.next("listening")
	if err != nil {
		_, ended := d.end()
		return nil, errors.Join(err, ended)
	}
	d.address = e.Address
	return d, nil
}

// next reads the log up to a message.
func (d *daemon) next(message string) (event, error) {
	for d.lines.Scan() {
		var e event
		if err := json.Unmarshal(d.lines.Bytes(), &e); err != nil {
			return e, fmt.Errorf("the daemon wrote %q", d.lines.Text())
		}
		if e.Message == message {
			return e, nil
		}
	}
	return event{}, errors.Join(fmt.Errorf("the daemon ended before it wrote %q", message), d.lines.Err())
}

// syncs waits for the ends of so many.
func (d *daemon) syncs(count int) error {
	for range count {
		if _, err := d.next("sync"); err != nil {
			return err
		}
	}
	return nil
}

// end asks the daemon to end, removes what it made and tells what it has used.
func (d *daemon) end() (sample, error) {
	defer os.RemoveAll(d.dir)
	defer d.log.Close()
	err := d.process.cmd.Process.Signal(syscall.SIGTERM)
	for d.lines.Scan() { // or the daemon could wait for room in the pipe
	}
	taken, ended := d.process.wait()
	return taken, errors.Join(err, ended)
}

func (e event) wall() time.Duration { return time.Duration(e.Seconds * float64(time.Second)) }
