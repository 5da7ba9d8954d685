package main

import (
	"github.com/spf13/cobra"

	"syncd/cmd/syncd/cli"
	"syncd/internal/engine/operation"
	"syncd/internal/report"
	"syncd/internal/report/request"
	"syncd/internal/ui/terminal"
)

func forgetCommand(a *cli.App) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "forget NAME...", Short: "Stop serving manifests and views that left the configuration", Args: cli.Arguments(1, -1),
		Long: `Publish a new generation without manifests and views that left the configuration.
Until then, they stay served as they are; 'syncd status' shows them as orphaned. With
'removed: drop' in the configuration, they leave at once.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return work[request.Forget, report.Sync]{operation: operation.Forget, asJSON: asJSON, text: lines(terminal.PrintForget), isOK: report.Sync.OK, errors: terminal.PrintErrors}.
				run(cmd.Context(), a, request.Forget{Names: args, Trigger: request.TriggerForget})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}
