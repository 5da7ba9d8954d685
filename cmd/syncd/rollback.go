package main

import (
	"context"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"syncd/internal/engine/operation"
	"syncd/internal/report"
	"syncd/internal/report/request"
	"syncd/internal/ui/terminal"
)

func (a *app) rollbackCommand() *cobra.Command {
	var req request.Rollback
	var asJSON bool
	cmd := &cobra.Command{
		Use: "rollback [GENERATION]", Short: "Publish the revisions of an earlier generation again",
		Long: `Publish a new generation with the revisions of the previous generation, or of a
given one that is still on disk. Syncs then keep each manifest there. The hold ends
when the provider lists a newer release than the one left, or changes that one, or
with 'syncd sync --force'. A second rollback undoes the first.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := parseRollback(&req, args); err != nil {
				return err
			}
			return a.rollback(cmd.Context(), req, asJSON)
		},
	}
	cmd.Flags().StringSliceVar(&req.Manifests, "manifest", nil, "roll back only these manifests")
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
			return usagef("`syncd rollback` takes one generation, not %d and %s", req.Generation, arg)
		case err != nil && len(req.Manifests) > 0:
			req.Manifests = append(req.Manifests, arg)
		default:
			return usagef("%q is not the number of a generation: `syncd history` lists them", arg)
		}
	}
	slices.Sort(req.Manifests)
	return nil
}

func (a *app) rollback(ctx context.Context, req request.Rollback, asJSON bool) error {
	cfg, err := a.loadAndWarn()
	if err != nil {
		return err
	}
	if err := checkNames(cfg, req.Manifests); err != nil {
		return err
	}
	var result report.Sync
	err = a.withEngine(ctx, cfg, func(e operation.Engine) error {
		result, err = operation.Rollback.Do(ctx, e, req)
		return err
	})
	if err != nil {
		return err
	}
	if asJSON {
		err = a.printJSON(result)
	} else {
		terminal.PrintRollback(a.stdout, result)
	}
	terminal.PrintErrors(a.stderr, result)
	if err == nil && !result.OK() {
		err = errPrinted
	}
	return err
}
