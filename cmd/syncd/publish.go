package main

import (
	"io"

	"github.com/spf13/cobra"

	"syncd/cmd/syncd/cli"
	"syncd/internal/config"
	"syncd/internal/engine/operation"
	"syncd/internal/report"
	"syncd/internal/report/request"
	"syncd/internal/ui/terminal"
)

func publishCommand(a *cli.App) *cobra.Command {
	var req request.Upload
	var asJSON bool
	cmd := &cobra.Command{
		Use: "publish", Short: "Publish to object storage what is served, without a sync", Args: cli.Arguments(0, 0),
		Long: `Publish what is served to the bucket of publish.s3. Each sync does this before it ends,
so this command is for an attempt right after a failure, and for a look at what would be
uploaded (--dry-run).

--gc also deletes what no generation in use names and what is older than
publish.s3.grace. Each publication of something new does this, too.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return work[request.Upload, report.Upload]{
				operation: operation.Upload, check: hasPlace, asJSON: asJSON,
				text: lines(func(w io.Writer, r report.Upload) { terminal.PrintUpload(w, r, req.DryRun) }),
			}.run(cmd.Context(), a, req)
		},
	}
	cmd.Flags().BoolVar(&req.DryRun, "dry-run", false, "show what would be uploaded and deleted, and change nothing")
	cmd.Flags().BoolVar(&req.Collect, "gc", false, "delete what nothing in the bucket needs any more")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// hasPlace requires a place to publish to.
func hasPlace(cfg *config.Config) error {
	if !cfg.Publish.S3.IsSet() {
		return cli.Usagef("%s has no publish.s3: say there where this host publishes", cfg.Path)
	}
	return nil
}
