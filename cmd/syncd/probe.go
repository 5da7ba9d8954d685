package main

import (
	"github.com/spf13/cobra"

	"syncd/cmd/syncd/cli"
	"syncd/internal/engine/operation"
	"syncd/internal/report"
	"syncd/internal/report/request"
	"syncd/internal/ui/terminal"
)

func probeCommand(a *cli.App) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "probe [MANIFEST...]", Short: "Ask whether the consumers work with what is served, and change nothing",
		Long: `Ask the probe of each named manifest once, or of all that have one. Nothing is rolled
back: only the verdict after a swap decides that. Exits 1 if a consumer does not work.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return work[request.Probe, report.Probes]{
				operation: operation.Probe, check: named(args), asJSON: asJSON, text: lines(terminal.PrintProbes), isOK: report.Probes.OK,
			}.run(cmd.Context(), a, request.Probe{Manifests: args})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}
