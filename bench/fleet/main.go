// Command fleet tells how a release reaches many hosts. It runs an upstream and its
// followers on this machine, measures them, and simulates larger fleets with what it
// measured. docs/fleet.md describes the layouts and the assumptions.
//
//	go run ./bench/fleet -syncd bin/syncd -write docs/fleet.md
//
// With -only regions or -only pollers it runs three regions below a root, or thousands of
// hosts that only poll, for BENCHMARKS.md.
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
	"time"

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
	only := flag.String("only", "real", "what to measure: real (with the simulation), regions or pollers")
	pollers := flag.Int("pollers", 2000, "hosts of the run of pollers")
	http2 := flag.Bool("http2", false, "pollers speak HTTP/2, if the server does")
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
	ctx, stop := context.WithTimeout(ctx, measure.RunTimeout) // ends the daemons, too
	defer stop()
	switch *only {
	case "regions":
		r := &regions{binary: binary, work: filepath.Join(work, "regions"), followers: 20, files: 4, size: 4 * provider.MiB, rate: "16MiB", poll: 2 * time.Second, cut: time.Minute}
		result, err := r.run(ctx)
		if err != nil {
			return err
		}
		return show(*write, "regions", r.table(result))
	case "pollers":
		p := pollingRun{binary: binary, work: work, hosts: *pollers, each: 2 * time.Second, lasts: time.Minute, http2: *http2}
		result, err := p.run(ctx)
		if err != nil {
			return err
		}
		return show(*write, "pollers", p.table(result))
	case "real":
	default:
		return fmt.Errorf("-only %s: is real, regions or pollers", *only)
	}
	r := run{binary: binary, work: work, followers: *followers, files: 4, size: *size * provider.MiB}
	result, err := r.measure(ctx)
	if err != nil {
		return err
	}
	return report(*write, r, result)
}

// report prints the tables of the real run and the simulation.
func report(write string, r run, result ran) error {
	in := inputs{result.measured, assumptions()}
	for _, t := range []struct{ name, text string }{{"real", r.table(result)}, {"simulation", simulation(in)}, {"levels", levels(in)}} {
		if err := show(write, t.name, t.text); err != nil {
			return err
		}
	}
	return nil
}

// show prints a table. It also writes it into a Markdown file, if there is one.
func show(write, name, text string) error {
	fmt.Printf("%s\n\n%s\n", name, text)
	if write == "" {
		return nil
	}
	return table.Replace(write, name, text)
}
