package main

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"syncd/internal/config"
	"syncd/internal/control"
	"syncd/internal/engine"
	"syncd/internal/mirror"
	"syncd/internal/report"
)

func (a *app) statusCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "status", Short: "Show what is served and how it stands, with or without a daemon", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := a.loadAndWarn()
			if err != nil {
				return err
			}
			status, err := a.statusNow(cmd.Context(), cfg)
			if err != nil {
				return err
			}
			if asJSON {
				return a.printJSON(status)
			}
			return a.printStatus(status)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// statusNow is how the configured manifests stand, with and without a daemon.
func (a *app) statusNow(ctx context.Context, cfg *config.Config) (report.Status, error) {
	return query(ctx, a, cfg, func(c *control.Client) (report.Status, error) { return c.Status(ctx) },
		func(m *mirror.Mirror, s report.StateReader) (report.Status, error) {
			return engine.StatusOnDisk(cfg, m, s)
		})
}

func (a *app) printStatus(s report.Status) error {
	fmt.Fprintf(a.stdout, "data_dir    %s\n", s.DataDir)
	fmt.Fprintf(a.stdout, "generation  %s\n", generation(s.Generation))
	fmt.Fprintf(a.stdout, "daemon      %s\n\n", map[bool]string{true: "running", false: "not running"}[s.Daemon])
	table := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "MANIFEST\tRELEASE\tSTATE\tFILES\tSIZE\tCHECKED\tNEXT")
	for _, m := range s.Manifests {
		state := string(m.State)
		if m.HeldFrom != "" {
			state += " (from " + m.HeldFrom + ")"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%s\t%s\t%s\n", m.Name, dash(releaseOf(m.Release, m.Revision)), state,
			m.Files, humanize.IBytes(uint64(m.Bytes)), when(m.CheckedAt), when(m.NextSync))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, m := range s.Manifests {
		if m.Error != "" {
			fmt.Fprintf(a.stdout, "\n%s: %s\n", m.Name, m.Error)
		}
	}
	return nil
}

func generation(number int) string {
	if number == 0 {
		return "none yet: run `syncd sync`"
	}
	return fmt.Sprint(number)
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func when(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return t.Local().Format("2006-01-02 15:04:05")
}
