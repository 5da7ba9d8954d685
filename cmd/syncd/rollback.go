package main

import (
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"syncd/cmd/syncd/cli"
	"syncd/internal/engine/operation"
	"syncd/internal/report"
	"syncd/internal/report/request"
	"syncd/internal/ui/terminal"
)

func rollbackCommand(a *cli.App) *cobra.Command {
	var req request.Rollback
	var asJSON bool
	cmd := &cobra.Command{
		Use: "rollback [GENERATION]", Short: "Publish the revisions of an earlier generation again",
		Long: `Publish a new generation with the revisions of the previous generation, or of a
given one that is still on disk. Syncs then keep each manifest there. The hold ends
when the provider lists a newer release than the one left, or changes that one, or
with 'syncd sync --force'. A pin to another release moves along. A second rollback
undoes the first. Files that no scrub has read lately are read first, about a minute
for each 10 GiB.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := parseRollback(&req, args); err != nil {
				return err
			}
			return work[request.Rollback, report.Sync]{
				operation: operation.Rollback, check: named(req.Manifests), asJSON: asJSON,
				slow: "reading files that go live again; until they are proven, nothing changes",
				text: lines(terminal.PrintRollback), errors: terminal.PrintErrors, isOK: report.Sync.OK,
			}.run(cmd.Context(), a, req)
		},
	}
	cmd.Flags().StringSliceVar(&req.Manifests, "manifest", nil, "roll back only these manifests")
	cmd.Flags().BoolVar(&req.Force, "force", false, "also go back to data that has expired")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// parseRollback accepts one number, and further names after --manifest.
func parseRollback(req *request.Rollback, args []string) error {
	for _, arg := range args {
		number, err := strconv.Atoi(arg)
		switch {
		case err == nil && number > 0 && req.Generation == 0:
			req.Generation = number
		case err == nil && req.Generation > 0:
			return cli.Usagef("`syncd rollback` takes one generation, not %d and %s", req.Generation, arg)
		case err != nil && len(req.Manifests) > 0:
			req.Manifests = append(req.Manifests, arg)
		default:
			return cli.Usagef("%q is not the number of a generation: `syncd history` lists them; `--manifest NAME` rolls back one manifest", arg)
		}
	}
	slices.Sort(req.Manifests)
	return nil
}
