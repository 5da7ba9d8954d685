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

	"syncd/bench/internal/contender"
	"syncd/bench/internal/measure"
	"syncd/bench/internal/provider"
)

// daemon is a running `syncd run` and its log.
type daemon struct {
	process *measure.Process
	dir     string
	address string // of its web server
	log     io.ReadCloser
	lines   *bufio.Scanner
}

// event is a line of the log, with the fields that cases need.
type event struct {
	Message, Address string
	Changed          bool
	Seconds          float64
}

// startDaemon starts a daemon with more in its configuration and returns when it
// listens.
func (b bench) startDaemon(ctx context.Context, p provider.Provider, more string) (*daemon, error) {
	dir, err := os.MkdirTemp(b.work, "run-")
	if err != nil {
		return nil, err
	}
	path, err := contender.WriteConfig(p, dir, more)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(b.binary, "--config", path, "run")
	cmd.Env = append(os.Environ(), "NOTIFY_SOCKET=")
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stderr = writer
	started, err := measure.Start(ctx, cmd)
	writer.Close()
	if err != nil {
		return nil, err
	}
	d := &daemon{process: started, dir: dir, log: reader, lines: bufio.NewScanner(reader)}
	e, err := d.next("listening")
	if err != nil {
		_, ended := d.end()
		return nil, errors.Join(err, ended)
	}
	d.address = e.Address
	return d, nil
}

// next reads the log up to the next event with this message.
func (d *daemon) next(message string) (event, error) {
	for d.lines.Scan() {
		var e event
		if err := json.Unmarshal(d.lines.Bytes(), &e); err != nil {
			return e, fmt.Errorf("log line %q: %w", d.lines.Text(), err)
		}
		if e.Message == message {
			return e, nil
		}
	}
	return event{}, errors.Join(fmt.Errorf("the daemon ended before it logged %q", message), d.lines.Err())
}

// syncs waits until count syncs have ended.
func (d *daemon) syncs(count int) error {
	for range count {
		if _, err := d.next("sync"); err != nil {
			return err
		}
	}
	return nil
}

// end stops the daemon, removes its files and returns its measurements.
func (d *daemon) end() (measure.Sample, error) {
	defer os.RemoveAll(d.dir)
	defer d.log.Close()
	err := d.process.Cmd.Process.Signal(syscall.SIGTERM)
	for d.lines.Scan() { // drain the pipe, so that the daemon does not block on it
	}
	taken, ended := d.process.Wait()
	return taken, errors.Join(err, ended)
}

func (e event) wall() time.Duration { return time.Duration(e.Seconds * float64(time.Second)) }
