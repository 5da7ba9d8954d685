package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/spf13/cobra"

	"syncd/internal/config"
	"syncd/internal/disk/durable"
	"syncd/internal/engine"
	"syncd/internal/engine/operation"
	"syncd/internal/mirror"
	"syncd/internal/report"
	"syncd/internal/report/status"
	"syncd/internal/store"
	"syncd/internal/ui/control"
	"syncd/internal/ui/terminal"
)

func (a *app) statusCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "status", Short: "Show the served releases and their state, with or without a daemon", Args: arguments(0, 0),
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
			return terminal.PrintStatus(a.stdout, status)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// statusNow returns the status, with and without a daemon.
func (a *app) statusNow(ctx context.Context, cfg *config.Config) (report.Status, error) {
	return query(ctx, a, cfg, operation.Status,
		func(m *mirror.Mirror, s status.StateReader) (report.Status, error) {
			return engine.StatusOnDisk(cfg, m, s)
		})
}

func (a *app) explainCommand() *cobra.Command {
	return &cobra.Command{
		Use: "explain [MANIFEST]", Short: "Explain in one sentence what is happening, or why nothing is",
		Args: arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := a.loadAndWarn()
			if err != nil {
				return err
			}
			if err := checkServed(cfg, args); err != nil {
				return err
			}
			status, err := a.statusNow(cmd.Context(), cfg)
			if err != nil {
				return err
			}
			return a.printExplanations(status, args)
		},
	}
}

// printExplanations prints a line for each manifest, or for the named ones. It fails
// when the running daemon has not yet read the configuration with that name.
func (a *app) printExplanations(status report.Status, names []string) error {
	printed := 0
	for _, m := range status.Manifests {
		if len(names) == 0 || slices.Contains(names, m.Name) {
			fmt.Fprintf(a.stdout, "%s: %s\n", m.Name, m.Explanation)
			terminal.PrintQuarantine(a.stdout, m.Quarantined)
			printed++
		}
	}
	for _, v := range status.Views {
		if len(names) == 0 {
			fmt.Fprintf(a.stdout, "view %s: %s\n", v.Name, v.Explanation)
		}
	}
	if status.Scrub != nil && len(names) == 0 {
		fmt.Fprintf(a.stdout, "scrub: %s\n", status.Scrub.Explanation)
	}
	if status.Publish != nil && len(names) == 0 {
		fmt.Fprintf(a.stdout, "publish: %s\n", status.Publish.Explanation)
	}
	for _, h := range status.Hooks {
		if text := h.Explanation(); text != "" && len(names) == 0 {
			fmt.Fprintf(a.stdout, "hook %s: %s\n", h.Name, text)
		}
	}
	if printed < len(names) {
		return fmt.Errorf("the running syncd does not know %s yet: send it SIGHUP to reload the configuration", names[0])
	}
	return nil
}

func (a *app) historyCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "history", Short: "Show past syncs and rollbacks, with or without a daemon", Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := a.loadAndWarn()
			if err != nil {
				return err
			}
			history, err := query(cmd.Context(), a, cfg, operation.History,
				func(m *mirror.Mirror, s status.StateReader) (report.History, error) {
					return status.History(m, s, report.HistoryLimit)
				})
			if err != nil {
				return err
			}
			if asJSON {
				return a.printJSON(history)
			}
			return terminal.PrintHistory(a.stdout, history)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// query answers from the running engine, or from the disk when none is running.
func query[T any](ctx context.Context, a *app, cfg *config.Config, q operation.Query[T], fromDisk func(*mirror.Mirror, status.StateReader) (T, error)) (T, error) {
	var none T
	client, err := control.Dial(ctx, stateDir(cfg))
	if err == nil {
		defer client.Close()
		return q.Ask(ctx, client)
	}
	if !errors.Is(err, control.ErrNotRunning) {
		return none, err
	}
	m, err := mirror.Open(cfg.DataDir, &durable.Disk{})
	if err != nil {
		return none, err
	}
	s, err := store.OpenReadOnly(m.Root(), engine.StateFile, startPatience)
	var damaged *store.DamagedError
	switch {
	case err == nil:
		defer s.Close()
		return fromDisk(m, s)
	case errors.Is(err, fs.ErrNotExist):
		return fromDisk(m, nil)
	case errors.As(err, &damaged):
		fmt.Fprintf(a.stderr, "syncd: warning: %v: the next sync sets it aside\n", damaged)
		return fromDisk(m, nil)
	}
	return none, err
}
