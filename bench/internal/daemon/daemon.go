// Package daemon runs `syncd run` and follows its log.
package daemon

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
)

// Daemon is a running `syncd run` and its log.
type Daemon struct {
	Process *measure.Process
	Dir     string // of its configuration and data
	Address string // of its web server
	log     io.ReadCloser
	lines   *bufio.Scanner
}

// Event is a line of the log, with the fields that cases need.
type Event struct {
	Message, Address, Level, Error string
	Changed                        any // a bool for a sync
	Seconds                        float64

	line string
}

// Start starts a daemon of a binary with more in its configuration, and its files below
// work. It returns when the daemon listens.
func Start(ctx context.Context, binary, work string, from contender.Source, more string) (*Daemon, error) {
	dir, err := os.MkdirTemp(work, "run-")
	if err != nil {
		return nil, err
	}
	path, err := contender.WriteConfig(from, dir, more)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(binary, "--config", path, "run")
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
	d := &Daemon{Process: started, Dir: dir, log: reader, lines: bufio.NewScanner(reader)}
	e, err := d.Next("listening")
	if err != nil {
		_, ended := d.End()
		return nil, errors.Join(err, ended)
	}
	d.Address = e.Address
	return d, nil
}

// Next reads the log up to the next event with this message.
func (d *Daemon) Next(message string) (Event, error) {
	for d.lines.Scan() {
		var e Event
		if err := json.Unmarshal(d.lines.Bytes(), &e); err != nil {
			return e, fmt.Errorf("log line %q: %w", d.lines.Text(), err)
		}
		if e.Message == message {
			e.line = d.lines.Text()
			return e, nil
		}
	}
	return Event{}, errors.Join(fmt.Errorf("the daemon ended before it logged %q", message), d.lines.Err())
}

// FirstSync waits for the sync that a start begins, which must bring something new.
func (d *Daemon) FirstSync() (Event, error) {
	e, err := d.Next("sync")
	if err == nil && e.Changed != true {
		err = fmt.Errorf("the first sync brought nothing new: %s", e.line)
	}
	return e, err
}

// Syncs waits until count syncs have ended.
func (d *Daemon) Syncs(count int) error {
	for range count {
		if _, err := d.Next("sync"); err != nil {
			return err
		}
	}
	return nil
}

// End stops the daemon, removes its files and returns its measurements.
func (d *Daemon) End() (measure.Sample, error) {
	defer os.RemoveAll(d.Dir)
	defer d.log.Close()
	err := d.Process.Cmd.Process.Signal(syscall.SIGTERM)
	for d.lines.Scan() { // drain the pipe, so that the daemon does not block on it
	}
	taken, ended := d.Process.Wait()
	return taken, errors.Join(err, ended)
}

// Wall is how long the work of the event took.
func (e Event) Wall() time.Duration { return time.Duration(e.Seconds * float64(time.Second)) }
