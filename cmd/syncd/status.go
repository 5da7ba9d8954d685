package main

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"syncd/cmd/syncd/cli"
	"syncd/internal/config"
	"syncd/internal/engine"
	"syncd/internal/engine/operation"
	"syncd/internal/mirror"
	"syncd/internal/report"
	"syncd/internal/report/status"
	"syncd/internal/ui/terminal"
)

func statusCommand(a *cli.App) *cobra.Command {
	var asJSON, watches bool
	cmd := &cobra.Command{
		Use: "status", Short: "Show the served releases and their state, with or without a daemon", Args: cli.Arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := a.LoadAndWarn()
			if err != nil {
				return err
			}
			check := func(s report.Status) error {
				if s.Daemon && !watches { // the display has no room for it
					warnOfUnknown(a, cfg, s)
				}
				return isWhole(s)
			}
			look := func() error {
				return show(cmd.Context(), a, cfg, operation.Status, statusOnDisk(cfg), asJSON, terminal.PrintStatus, check)
			}
			if watches {
				return a.Watch(cmd.Context(), look)
			}
			return look()
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.Flags().BoolVar(&watches, "watch", false, "show it again every 2 seconds until Ctrl-C; with --json, an object each time")
	return cmd
}

// notLoaded says that the daemon has not loaded a manifest of the file yet.
const notLoaded = "the running syncd does not know %s yet: send it SIGHUP (`systemctl reload syncd`) to reload the configuration"

// warnOfUnknown names the manifests of the file that a daemon did not load yet.
func warnOfUnknown(a *cli.App, cfg *config.Config, s report.Status) {
	for _, name := range cfg.Names() {
		if !slices.ContainsFunc(s.Manifests, func(m report.ManifestStatus) bool { return m.Name == name }) {
			a.Warn(fmt.Sprintf(notLoaded, name))
		}
	}
}

// isWhole fails for a data directory that lost what it serves.
func isWhole(s report.Status) error {
	if s.Damage != "" {
		return cli.ErrPrinted
	}
	return nil
}

func statusOnDisk(cfg *config.Config) cli.FromDisk[report.Status] {
	return func(m *mirror.Mirror, s status.StateReader) (report.Status, error) {
		return engine.StatusOnDisk(cfg, m, s)
	}
}

func explainCommand(a *cli.App) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "explain [MANIFEST]", Short: "Explain in one sentence what is happening, or why nothing is",
		Args: cli.Arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := a.LoadAndWarn()
			if err != nil {
				return err
			}
			if err := checkServed(cfg, args); err != nil {
				return err
			}
			status, err := cli.Ask(cmd.Context(), a, cfg, operation.Status, statusOnDisk(cfg))
			if err != nil {
				return err
			}
			list := status.Explanations(args)
			if len(list) < len(args) {
				return fmt.Errorf(notLoaded, args[0])
			}
			if asJSON {
				err = a.PrintJSON(map[string]any{"explanations": list})
			} else {
				terminal.PrintExplanations(a.Stdout, list)
			}
			return cmp.Or(err, isWhole(status))
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func historyCommand(a *cli.App) *cobra.Command {
	var asJSON bool
	var limit int
	var since string
	cmd := &cobra.Command{
		Use: "history", Short: "Show past syncs and rollbacks, with or without a daemon", Args: cli.Arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 0 || cmd.Flags().Changed("limit") && limit == 0 {
				return cli.Usagef("--limit %d is not a number of syncs from 1 on", limit)
			}
			from, err := cli.Since(since, time.Now())
			if err != nil {
				return cli.Usagef("--since %w", err)
			}
			cfg, err := a.LoadAndWarn()
			if err != nil {
				return err
			}
			fromDisk := func(m *mirror.Mirror, s status.StateReader) (report.History, error) {
				return status.History(m, s, report.HistoryLimit)
			}
			history, err := cli.Ask(cmd.Context(), a, cfg, operation.History, fromDisk)
			if err != nil {
				return err
			}
			history = history.Newest(limit, from)
			if asJSON {
				return a.PrintJSON(history)
			}
			return terminal.PrintHistory(a.Stdout, history)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.Flags().IntVar(&limit, "limit", 0, fmt.Sprintf("show only the newest `N` syncs (default: all, at most %d)", report.HistoryLimit))
	cmd.Flags().StringVar(&since, "since", "", "show only syncs since this `time`, such as 2026-11-23, or in the last 12h or 7d")
	return cmd
}
