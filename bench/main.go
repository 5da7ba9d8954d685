// Command bench compares syncd with the tools that people use in scripts: wget2 or
// curl followed by openssl on both cores, and aria2 with checksums. One server serves all
// of them over loopback: the emulator in this process, or nginx for https. Runs
// alternate, each in a fresh directory, and all tools check the same digests. Only syncd
// makes its files durable and publishes them. BENCHMARKS.md describes the method.
//
//	go run ./bench -syncd bin/syncd -write BENCHMARKS.md
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"syscall"

	"syncd/bench/internal/contender"
	"syncd/bench/internal/table"
)

func main() {
	log.SetFlags(0)
	debug.SetGCPercent(400) // fewer collections: the server's CPU time disturbs the runs, its memory does not
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		log.Fatal("bench: ", err)
	}
}

func run(ctx context.Context) error {
	syncd := flag.String("syncd", "bin/syncd", "the binary to measure")
	before := flag.String("before", "", "an earlier binary: run races and the case idle with it and -syncd in turn, without other tools")
	runs := flag.Int("runs", 5, "counted runs of each tool, after one to warm up")
	dir := flag.String("dir", "", "folder for contents and downloads, about 12 GiB (default: the system's temporary folder)")
	write := flag.String("write", "", "Markdown file whose tables to replace")
	only := flag.String("only", "", "run these cases only, separated by commas: "+caseNames())
	quick := flag.Bool("quick", false, "run once with a tenth of the sizes, to see that cases run")
	profile := flag.String("profile", "", "instead of measuring, profile one sync of the case named by -only with perf, into this file")
	list := flag.String("loop", "", "internal: act as the bare Go loop for this list of files")
	names := flag.Int("names", 0, "internal: make so many files with two names in the working directory")
	flag.Parse()
	if *names > 0 {
		return contender.MakeNames(*names)
	}
	if *list != "" {
		return contender.Loop(ctx, *list)
	}

	binary, err := filepath.Abs(*syncd)
	if err != nil {
		return err
	}
	if _, err := os.Stat(binary); err != nil {
		return fmt.Errorf("%w: run `make build` first", err)
	}
	if *runs < 1 {
		return errors.New("-runs must be at least 1")
	}
	b := bench{binary: binary, dir: *dir, runs: *runs, shrink: 1}
	if *quick {
		b.runs, b.shrink = 1, 10
	}
	if *profile != "" {
		return b.profileCase(ctx, *only, *profile)
	}
	if *before != "" {
		return b.compareWith(ctx, *before, *only)
	}
	chosen, err := choose(*only)
	if err != nil {
		return err
	}
	for _, c := range chosen {
		if err := b.report(ctx, c, *write); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	return nil
}

// report runs a case and prints its table. It also writes the table into a Markdown file,
// if there is one.
func (b bench) report(ctx context.Context, c benchCase, write string) error {
	text, err := c.run(ctx, b)
	if cannotRun(err) {
		log.Printf("skipping %s: %v", c.name, err)
		return nil
	}
	if err != nil {
		return err
	}
	fmt.Printf("%s\n\n%s\n", c.name, text)
	if write == "" {
		return nil
	}
	return table.Replace(write, c.name, text)
}
