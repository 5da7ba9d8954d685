// Command bench measures syncd beside the tools that people script with: wget2
// or curl followed by openssl on both cores, and aria2 with checksums. One
// server, the emulator in this process, serves all of them over loopback. The
// runs are interleaved, each in a fresh directory; all ask for the same hashes.
// syncd fsyncs and swaps, the others do neither.
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
)

func main() {
	log.SetFlags(0)
	debug.SetGCPercent(400) // the server's memory is nobody's concern here, its time is
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		log.Fatal("bench: ", err)
	}
}

func run(ctx context.Context) error {
	syncd := flag.String("syncd", "bin/syncd", "the binary to measure")
	runs := flag.Int("runs", 5, "counted runs of each tool, after one to warm up")
	dir := flag.String("dir", "", "folder for contents and downloads, some 21 GiB (default: the system's temporary folder)")
	write := flag.String("write", "", "Markdown file whose tables are to be replaced")
	only := flag.String("only", "", "one case: "+caseNames())
	list := flag.String("loop", "", "be the loop that a case compares with, for this list")
	flag.Parse()
	if *list != "" {
		return loop(ctx, *list)
	}

	binary, err := filepath.Abs(*syncd)
	if err != nil {
		return err
	}
	if _, err := os.Stat(binary); err != nil {
		return fmt.Errorf("%w: `make build` makes it", err)
	}
	if *runs < 1 {
		return errors.New("-runs must be at least 1")
	}
	found := false
	for _, c := range cases() {
		if *only != "" && *only != c.name {
			continue
		}
		found = true
		table, err := c.measured(ctx, bench{syncd: binary, dir: *dir, runs: *runs, shrink: 1})
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		fmt.Printf("%s\n\n%s\n", c.name, table)
		if *write == "" {
			continue
		}
		if err := replaceTable(*write, c.name, table); err != nil {
			return err
		}
	}
	if !found {
		return fmt.Errorf("no case is called %q: %s", *only, caseNames())
	}
	return nil
}
