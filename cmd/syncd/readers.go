//go:build linux

package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"syncd/cmd/syncd/cli"
	"syncd/internal/disk/durable"
	"syncd/internal/mirror"
	"syncd/internal/mirror/readers"
	"syncd/internal/report"
	"syncd/internal/ui/terminal"
)

func readersCommand(a *cli.App) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "readers", Short: "List the processes that have mirrored files open or mapped", Args: cli.Arguments(0, 0),
		Long: `List the processes that have mirrored files open or mapped, with the manifest, release
and revision of the files: after a swap, a process can keep the old ones open. Run it
as root to see all processes.`,
		RunE: func(*cobra.Command, []string) error { return listReaders(a, asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func listReaders(a *cli.App, asJSON bool) error {
	cfg, err := a.LoadAndWarn()
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
		return a.PrintJSON(result)
	}
	shown, err := report.VisibleCopy(result)
	if err != nil {
		return err
	}
	return printReaders(a, shown)
}

// unseenText says how to see the files of all processes. Even root lacks the right in a
// container, and for processes of another user namespace.
func unseenText(n, uid int) string {
	next := "run this as root"
	if uid == 0 {
		next = "root may not trace them here: run this on the host, or give the container CAP_SYS_PTRACE"
	}
	return fmt.Sprintf("the files of %d processes could not be seen: %s", n, next)
}

func printReaders(a *cli.App, result readers.Result) error {
	if len(result.Readers) == 0 {
		fmt.Fprintln(a.Stdout, "no process has mirrored files open or mapped")
	} else {
		table := terminal.NewTable(a.Stdout, "PID", "COMMAND", "MANIFEST", "RELEASE", "SERVED", "OPEN", "MAPPED", "FILES")
		for _, r := range result.Readers {
			table.Row(r.PID, r.Command, r.Manifest, fmt.Sprintf("%s-%s", r.Release, r.Revision),
				map[bool]string{true: "yes", false: "no"}[r.Served], r.Open, r.Mapped, strings.Join(r.Files[:min(len(r.Files), 3)], " "))
		}
		if err := table.Flush(); err != nil {
			return err
		}
	}
	if result.Unseen > 0 {
		a.Warn(unseenText(result.Unseen, os.Geteuid()))
	}
	for _, note := range result.Notes {
		a.Warn(note)
	}
	return nil
}
