package main

import (
	"io"
	"slices"

	"github.com/spf13/cobra"

	"syncd/cmd/syncd/cli"
	"syncd/internal/config"
	"syncd/internal/engine/operation"
	"syncd/internal/report"
	"syncd/internal/report/request"
	"syncd/internal/ui/terminal"
)

func activateCommand(a *cli.App) *cobra.Command {
	req := request.Activate{Trigger: request.TriggerActivate}
	var asJSON bool
	cmd := &cobra.Command{
		Use: "activate [MANIFEST|GROUP...]", Short: "Publish what is staged, or discard it",
		Long: `Publish the staged revisions of the named manifests and groups, or all that are
ready. A manifest goes live with its whole group or not at all, and holds up no other
manifest. It does not wait for a window, nor for a running download.

A revision that the gate refused stays in quarantine until --again asks the gate once
more. One that the probe refused after it went live goes live once more with --again. --discard drops staged and refused revisions for now: the schedule does not fetch
the same revision again, unless the gate or the configuration changes. 'syncd sync
--force' does, and a plain 'syncd sync' if the gate did not refuse it.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			req.Names = args
			if req.Discard {
				req.Trigger = request.TriggerDiscard
			}
			return work[request.Activate, report.Sync]{
				operation: operation.Activate, check: namedOrGroup(args), asJSON: asJSON,
				text: lines(func(w io.Writer, r report.Sync) { terminal.PrintActivation(w, r, req.Discard) }), isOK: report.Sync.OK,
				errors: func(w io.Writer, r report.Sync) {
					if !r.OK() {
						terminal.PrintErrors(w, r)
					}
				},
			}.run(cmd.Context(), a, req)
		},
	}
	cmd.Flags().BoolVar(&req.Discard, "discard", false, "drop what is staged or refused")
	cmd.Flags().BoolVar(&req.Again, "again", false, "ask gates and probes again that refused a revision")
	cmd.Flags().BoolVar(&req.Force, "force", false, "also publish data that has expired")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.MarkFlagsMutuallyExclusive("discard", "again")
	return cmd
}

// namedOrGroup checks the manifests and groups that a request names.
func namedOrGroup(names []string) func(*config.Config) error {
	return func(cfg *config.Config) error {
		isGroup := func(name string) bool {
			return slices.ContainsFunc(cfg.Groups, func(g config.Group) bool { return g.Name == name })
		}
		return checkNames(cfg, slices.DeleteFunc(slices.Clone(names), isGroup))
	}
}
