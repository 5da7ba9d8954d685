package main

import (
	"context"

	"github.com/spf13/cobra"

	"syncd/internal/engine/operation"
	"syncd/internal/report"
	"syncd/internal/report/request"
	"syncd/internal/ui/terminal"
)

func (a *app) forgetCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "forget NAME...", Short: "Stop serving manifests and views that left the configuration", Args: arguments(1, -1),
		Long: `Publish a new generation without manifests and views that left the configuration.
Until then, they stay served as they are; 'syncd status' shows them as orphaned. With
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
	var result report.Sync
	err = a.withEngine(ctx, cfg, func(e operation.Engine) error {
		result, err = operation.Forget.Do(ctx, e, request.Forget{Names: names, Trigger: request.TriggerForget})
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
