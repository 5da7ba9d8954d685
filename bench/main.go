// Command bench measures cold syncs beside the tools that people script with:
// aria2 with checksums, and wget2 followed by openssl on all cores. One server,
// the emulator in this process, serves all of them over loopback; the runs are
// interleaved, each in a fresh directory. syncd asks the Hash endpoints, fsyncs
// and swaps; the others are given the digests and do neither.
//
//	go run ./bench -syncd bin/syncd -write BENCHMARKS.md
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
)

func main() {
	log.SetFlags(0)
	if err := run(); err != nil {
		log.Fatal("bench: ", err)
	}
}

func run() error {
	syncd := flag.String("syncd", "bin/syncd", "the binary to measure")
	runs := flag.Int("runs", 5, "counted runs of each tool, after one to warm up")
	dir := flag.String("dir", "", "folder for the downloads (default: the system's temporary folder)")
	write := flag.String("write", "", "Markdown file whose results are to be replaced")
	only := flag.String("only", "", "one workload: "+names())
	scrapes := flag.Int("scrapes", 0, "measure a daemon's first sync beside so many scrapes of /metrics a second instead")
	flag.Parse()

	binary, err := filepath.Abs(*syncd)
	if err != nil {
		return err
	}
	if _, err := os.Stat(binary); err != nil {
		return fmt.Errorf("%w: `make build` makes it", err)
	}
	work, err := os.MkdirTemp(*dir, "syncd-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if *scrapes > 0 {
		return measureScrapes(*scrapes, binary, work, *runs)
	}
	var results []result
	for _, w := range workloads() {
		if *only != "" && *only != w.name {
			continue
		}
		measured, err := measure(w, binary, work, *runs)
		if err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
		results = append(results, measured...)
	}
	table := tableOf(results)
	fmt.Println(table)
	if *write == "" {
		return nil
	}
	return replaceResults(*write, table)
}
