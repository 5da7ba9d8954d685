//go:build linux

// Command recording runs a short session of syncd against `syncd emulator` in a pseudo
// terminal, and writes it as an animated SVG:
//
//	go run ./docs/recording -syncd bin/syncd -o docs/images/demo.svg
//
// The picture holds no time and no path of this machine. Two runs differ in the frames of
// the progress bars only.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

const columns, rows = 100, 40

func main() {
	program := flag.String("syncd", "bin/syncd", "the program to record")
	output := flag.String("o", "docs/images/demo.svg", "the file to write")
	flag.Parse()
	if err := run(*program, *output); err != nil {
		fmt.Fprintln(os.Stderr, "recording:", err)
		os.Exit(1)
	}
}

func run(program, output string) error {
	program, err := filepath.Abs(program)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "syncd-recording-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	provider, err := startProvider(program)
	if err != nil {
		return err
	}
	defer provider.stop()
	r := &recording{}
	if err := play(r, program, dir); err != nil {
		return err
	}
	r.pause(time.Second)
	return os.WriteFile(output, r.svg(), 0o644)
}
