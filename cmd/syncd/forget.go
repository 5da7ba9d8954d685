package main

import (
	"context"

	"github.com/spf13/cobra"

	"syncd/internal/report"
	"syncd/internal/request"
	"syncd/internal/terminal"
)

func (a *app) forgetCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "forget MANIFEST...", Short: "Stop serving manifests that left the configuration", Args: arguments(1, -1),
		Long: `Publish a new generation without manifests that left the configuration. Until then,
they stay served as they are; 'syncd status' shows them as orphaned. With
'removed: drop' in the configuration, they leave at once.`,
		RunE: func(cmd *cobra.Command, args []string) error { return a.forget(cmd.Context(), args, asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func (a *app) forget(ctx context.Context, names []string, asJSON bool) error {
	cfg, err := a.loadAndWarn()
	if err != nil {
		return err
	}
	for _, name := range names {
		if cfg.Has(name) {
			return usagef("%s is in %s: remove it there first", name, cfg.Path)
		}
	}
	var result report.Sync
	err = a.withEngine(ctx, cfg, func(e engineClient) error {
		result, err = e.Forget(ctx, request.Forget{Names: names, Trigger: request.TriggerForget})
		return err
	})
	if err != nil {
		return err
	}
	if asJSON {
		return a.printJSON(result)
	}
	terminal.PrintForget(a.stdout, result)
	return nil
}
