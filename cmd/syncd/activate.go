package main

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"syncd/internal/config"
	"syncd/internal/engine/operation"
	"syncd/internal/report"
	"syncd/internal/report/request"
	"syncd/internal/ui/terminal"
)

func (a *app) activateCommand() *cobra.Command {
	req := request.Activate{Trigger: request.TriggerActivate}
	var asJSON bool
	cmd := &cobra.Command{
		Use: "activate [MANIFEST|GROUP...]", Short: "Publish what is staged, or discard it",
		Long: `Publish the staged revisions of the named manifests and groups, or all that are
ready. A manifest goes live with its whole group or not at all, and holds up no other
manifest. It does not wait for a window, nor for a running download.

A revision that the gate refused stays in quarantine until --again asks the gate once
more. --discard drops staged and refused revisions; the schedule does not fetch the
same revision again, but 'syncd sync' does if the gate did not refuse it.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			req.Names = args
			return a.activate(cmd.Context(), req, asJSON)
		},
	}
	cmd.Flags().BoolVar(&req.Discard, "discard", false, "drop what is staged or refused")
	cmd.Flags().BoolVar(&req.Again, "again", false, "ask gates again that refused a revision")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.MarkFlagsMutuallyExclusive("discard", "again")
	return cmd
}

func (a *app) activate(ctx context.Context, req request.Activate, asJSON bool) error {
	cfg, err := a.loadAndWarn()
	if err != nil {
		return err
	}
	isGroup := func(name string) bool {
		return slices.ContainsFunc(cfg.Groups, func(g config.Group) bool { return g.Name == name })
	}
	if err := checkNames(cfg, slices.DeleteFunc(slices.Clone(req.Names), isGroup)); err != nil {
		return err
	}
	if req.Discard {
		req.Trigger = request.TriggerDiscard
	}
	var result report.Sync
	err = a.withEngine(ctx, cfg, func(e operation.Engine) error {
		result, err = operation.Activate.Do(ctx, e, req)
		return err
	})
	if err != nil {
		return err
	}
	if asJSON {
		err = a.printJSON(result)
	} else {
		terminal.PrintActivation(a.stdout, result, req.Discard)
	}
	if err == nil && !result.OK() {
		terminal.PrintErrors(a.stderr, result)
		return errPrinted
	}
	return err
}
