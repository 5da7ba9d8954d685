//go:build linux

package main

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"syncd/internal/disk/durable"
	"syncd/internal/mirror"
	"syncd/internal/mirror/readers"
)

func (a *app) readersCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "readers", Short: "List the processes that have mirrored files open or mapped", Args: arguments(0, 0),
		Long: `List the processes that have mirrored files open or mapped, with the manifest, release
and revision of the files: after a swap, a process can keep the old ones open. Run it
as root to see all processes.`,
		RunE: func(*cobra.Command, []string) error { return a.readers(asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func (a *app) readers(asJSON bool) error {
	cfg, err := a.loadAndWarn()
	if err != nil {
		return err
	}
	m, err := mirror.Open(cfg.DataDir, &durable.Disk{})
	if err != nil {
		return err
	}
	defer m.Close() //nolint:errcheck // it was only read
	if m.Root() == nil {
		return fmt.Errorf("data_dir %s does not exist: run `syncd sync`", cfg.DataDir)
	}
	result, err := readers.Scan(m, "/proc")
	if err != nil {
		return err
	}
	if asJSON {
		return a.printJSON(result)
	}
	return a.printReaders(result)
}

func (a *app) printReaders(result readers.Result) error {
	if len(result.Readers) == 0 {
		fmt.Fprintln(a.stdout, "no process has mirrored files open or mapped")
	} else {
		table := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, "PID\tCOMMAND\tMANIFEST\tRELEASE\tSERVED\tOPEN\tMAPPED\tFILES")
		for _, r := range result.Readers {
			fmt.Fprintf(table, "%d\t%s\t%s\t%s-%s\t%s\t%d\t%d\t%s\n", r.PID, printable(r.Command), r.Manifest, r.Release, r.Revision,
				map[bool]string{true: "yes", false: "no"}[r.Served], r.Open, r.Mapped, printable(strings.Join(r.Files[:min(len(r.Files), 3)], " ")))
		}
		if err := table.Flush(); err != nil {
			return err
		}
	}
	if result.Unseen > 0 {
		a.warn(fmt.Sprintf("the files of %d processes could not be seen: run this as root", result.Unseen))
	}
	for _, note := range result.Notes {
		a.warn(note)
	}
	return nil
}
