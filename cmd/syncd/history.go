package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"syncd/internal/control"
	"syncd/internal/mirror"
	"syncd/internal/report"
)

func (a *app) historyCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "history", Short: "Show past syncs and rollbacks, with or without a daemon", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := a.loadAndWarn()
			if err != nil {
				return err
			}
			history, err := query(cmd.Context(), a, cfg, func(c *control.Client) (report.History, error) { return c.History(cmd.Context()) },
				func(m *mirror.Mirror, s report.StateReader) (report.History, error) {
					return report.ReadHistory(m, s, report.HistoryLimit)
				})
			if err != nil {
				return err
			}
			if asJSON {
				return a.printJSON(history)
			}
			return a.printHistory(history)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func (a *app) printHistory(h report.History) error {
	if len(h.Entries) == 0 {
		fmt.Fprintln(a.stdout, "no syncs yet")
		return nil
	}
	table := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "TIME\tGENERATION\tTRIGGER\tMANIFEST\tRELEASE\tRESULT\tDOWNLOADED")
	for _, entry := range h.Entries {
		number := fmt.Sprint(entry.Generation)
		if entry.OnDisk {
			number += " *"
		}
		for _, m := range entry.Manifests {
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", entry.Time.Local().Format("2006-01-02 15:04:05"), number, entry.Trigger,
				m.Name, dash(releaseOf(m.Release, m.Revision)), string(m.Result)+inBrackets(m.Reason), humanize.IBytes(uint64(m.BytesDownloaded)))
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(a.stdout, "\n* on disk: `syncd rollback GENERATION` goes back to it")
	return nil
}
