// Command bench compares syncd with the tools that people use in scripts: wget2 or
// curl followed by openssl on both cores, and aria2 with checksums. One server, the
// emulator in this process, serves all of them over loopback. Runs alternate, each in
// a fresh directory, and all tools check the same digests. Only syncd makes its files
// durable and publishes them. BENCHMARKS.md describes the method.
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
	runs := flag.Int("runs", 5, "counted runs of each tool, after one to warm up")
	dir := flag.String("dir", "", "folder for contents and downloads, about 21 GiB (default: the system's temporary folder)")
	write := flag.String("write", "", "Markdown file whose tables to replace")
	only := flag.String("only", "", "run one case only: "+caseNames())
	list := flag.String("loop", "", "internal: act as the bare Go loop for this list of files")
	flag.Parse()
	if *list != "" {
		return loop(ctx, *list)
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
	found := false
	for _, c := range cases() {
		if *only != "" && *only != c.name {
			continue
		}
		found = true
		table, err := c.run(ctx, bench{syncd: binary, dir: *dir, runs: *runs, shrink: 1})
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
		return fmt.Errorf("unknown case %q: choose one of %s", *only, caseNames())
	}
	return nil
}
