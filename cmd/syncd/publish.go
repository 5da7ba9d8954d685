package main

import (
	"context"

	"github.com/spf13/cobra"

	"syncd/internal/engine/operation"
	"syncd/internal/report"
	"syncd/internal/report/request"
	"syncd/internal/ui/terminal"
)

func (a *app) publishCommand() *cobra.Command {
	var req request.Publish
	var asJSON bool
	cmd := &cobra.Command{
		Use: "publish", Short: "Publish to object storage what is served, without a sync", Args: arguments(0, 0),
		Long: `Publish what is served to the bucket of publish.s3. Each sync does this before it ends,
so this command is for an attempt right after a failure, and for a look at what would be
uploaded (--dry-run).

--gc also deletes what no generation in use names and what is older than
publish.s3.grace. Each publication of something new does this, too.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.publish(cmd.Context(), req, asJSON) },
	}
	cmd.Flags().BoolVar(&req.DryRun, "dry-run", false, "show what would be uploaded and deleted, and change nothing")
	cmd.Flags().BoolVar(&req.Collect, "gc", false, "delete what nothing in the bucket needs any more")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func (a *app) publish(ctx context.Context, req request.Publish, asJSON bool) error {
	cfg, err := a.loadAndWarn()
	if err != nil {
		return err
	}
	if !cfg.Publish.S3.IsSet() {
		return usagef("%s has no publish.s3: say there where this host publishes", cfg.Path)
	}
	var result report.Publication
	err = a.withEngine(ctx, cfg, func(e operation.Engine) error {
		result, err = operation.Publish.Do(ctx, e, req)
		return err
	})
	if err != nil {
		return err
	}
	if asJSON {
		return a.printJSON(result)
	}
	terminal.PrintPublication(a.stdout, result, req.DryRun)
	return nil
}
