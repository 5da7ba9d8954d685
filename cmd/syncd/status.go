package main

import (
	"cmp"
	"fmt"
	"slices"

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
	var asJSON bool
	cmd := &cobra.Command{
		Use: "status", Short: "Show the served releases and their state, with or without a daemon", Args: cli.Arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := a.LoadAndWarn()
			if err != nil {
				return err
			}
			return show(cmd.Context(), a, cfg, operation.Status, statusOnDisk(cfg), asJSON, terminal.PrintStatus, isWhole)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
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
	return &cobra.Command{
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
			return cmp.Or(printExplanations(a, status, args), isWhole(status))
		},
	}
}

// printExplanations prints a line for each manifest, or for the named ones. It fails
// when the running daemon has not yet read the configuration with that name.
func printExplanations(a *cli.App, status report.Status, names []string) error {
	printed := 0
	for _, m := range status.Manifests {
		if len(names) == 0 || slices.Contains(names, m.Name) {
			fmt.Fprintf(a.Stdout, "%s: %s\n", m.Name, m.Explanation)
			terminal.PrintQuarantine(a.Stdout, m.Quarantined)
			printed++
		}
	}
	for _, v := range status.Views {
		if len(names) == 0 {
			fmt.Fprintf(a.Stdout, "view %s: %s\n", v.Name, v.Explanation)
		}
	}
	for _, e := range status.Exports {
		if e.Explanation != "" && len(names) == 0 {
			fmt.Fprintf(a.Stdout, "export of view %s: %s\n", e.View, e.Explanation)
		}
	}
	if status.Scrub != nil && len(names) == 0 {
		fmt.Fprintf(a.Stdout, "scrub: %s\n", status.Scrub.Explanation)
	}
	if status.Upload != nil && len(names) == 0 {
		fmt.Fprintf(a.Stdout, "publish: %s\n", status.Upload.Explanation)
	}
	for _, h := range status.Hooks {
		if text := h.Explanation(); text != "" && len(names) == 0 {
			fmt.Fprintf(a.Stdout, "hook %s: %s\n", h.Name, text)
		}
	}
	if printed < len(names) {
		return fmt.Errorf("the running syncd does not know %s yet: send it SIGHUP to reload the configuration", names[0])
	}
	return nil
}

func historyCommand(a *cli.App) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "history", Short: "Show past syncs and rollbacks, with or without a daemon", Args: cli.Arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := a.LoadAndWarn()
			if err != nil {
				return err
			}
			fromDisk := func(m *mirror.Mirror, s status.StateReader) (report.History, error) {
				return status.History(m, s, report.HistoryLimit)
			}
			return show(cmd.Context(), a, cfg, operation.History, fromDisk, asJSON, terminal.PrintHistory)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}
