package command

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"syscall"
)

// scriptLine is how much of a program the kernel reads to find its interpreter.
const scriptLine = 256

// CheckScript says why the kernel cannot start the script at path. A program that is no
// text, or that this user cannot read, is not looked at: nil.
func CheckScript(path string) error {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a FIFO must not hold it up
	if err != nil {
		return nil
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	start, _ := io.ReadAll(io.LimitReader(f, scriptLine)) // what cannot be read is not looked at
	line, isScript := bytes.CutPrefix(start, []byte("#!"))
	if !isScript {
		if len(start) > 0 && bytes.IndexByte(start, 0) < 0 {
			return errors.New("its first line names no interpreter, as #!/bin/sh does")
		}
		return nil
	}
	line, _, _ = bytes.Cut(line, []byte("\n"))
	if bytes.HasSuffix(line, []byte("\r")) {
		return errors.New("its lines end as those of Windows do: save it with the line ends of Unix")
	}
	words := bytes.Fields(line)
	if len(words) == 0 {
		return errors.New("its first line names no interpreter, as #!/bin/sh does")
	}
	interpreter := string(words[0])
	if _, err := exec.LookPath(interpreter); err != nil {
		if path, ok := errors.AsType[*exec.Error](err); ok {
			err = path.Err
		}
		if path, ok := errors.AsType[*fs.PathError](err); ok {
			err = path.Err
		}
		return fmt.Errorf("its interpreter %q cannot be run: %w", interpreter, err)
	}
	return nil
}
