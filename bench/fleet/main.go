// Command fleet tells how a release reaches many hosts. It runs an upstream and its
// followers on this machine, measures them, and simulates larger fleets with what it
// measured. docs/fleet.md describes the layouts and the assumptions.
//
//	go run ./bench/fleet -syncd bin/syncd -write docs/fleet.md
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"syncd/bench/internal/measure"
	"syncd/bench/internal/provider"
	"syncd/bench/internal/table"
)

func main() {
	log.SetFlags(0)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command(ctx)
	stop()
	if err != nil {
		log.Fatal("fleet: ", err)
	}
}

func command(ctx context.Context) error {
	syncd := flag.String("syncd", "bin/syncd", "the binary to measure")
	followers := flag.Int("followers", 50, "followers of the real run")
	size := flag.Int64("size", 32, "MiB of each of the four files of the real run")
	dir := flag.String("dir", "", "folder for the real run (default: the system's temporary folder)")
	write := flag.String("write", "", "Markdown file whose tables to replace")
	flag.Parse()
	binary, err := filepath.Abs(*syncd)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp(*dir, "syncd-fleet-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	r := run{binary: binary, work: work, followers: *followers, files: 4, size: *size * provider.MiB}
	ctx, stop := context.WithTimeout(ctx, measure.RunTimeout) // ends the daemons, too
	defer stop()
	result, err := r.measure(ctx)
	if err != nil {
		return err
	}
	return report(*write, r, result)
}

// report prints the tables. It also writes them into a Markdown file, if there is one.
func report(write string, r run, result ran) error {
	tables := []struct{ name, text string }{
		{"real", r.table(result)},
		{"simulation", simulation(inputs{result.measured, assumptions()})},
	}
	for _, t := range tables {
		fmt.Printf("%s\n\n%s\n", t.name, t.text)
		if write == "" {
			continue
		}
		if err := table.Replace(write, t.name, t.text); err != nil {
			return err
		}
	}
	return nil
}
