package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"syncd/cmd/syncd/cli"
	"syncd/internal/config"
	"syncd/internal/disk/durable"
	"syncd/internal/engine"
	"syncd/internal/engine/operation"
	"syncd/internal/mirror"
	"syncd/internal/report"
	"syncd/internal/report/request"
	"syncd/internal/report/status"
	"syncd/internal/ui/terminal"
)

func verifyCommand(a *cli.App) *cobra.Command {
	var repair, asJSON bool
	var rate string
	cmd := &cobra.Command{
		Use: "verify [MANIFEST...]", Short: "Re-read the published files against their digests",
		Long: `Re-read the published files of the named manifests, or of all, and list the damaged
ones. With --repair, download and verify a new copy of each and put it in place.
--rate limits the reading in bytes per second, so that other readers of the disk
are not slowed down.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			bytes, err := config.ParseRate(rate)
			if err != nil {
				return cli.Usagef("--rate: %w", err)
			}
			w := work[request.Verify, report.Verification]{
				operation: operation.Repair, progress: true, asJSON: asJSON, isOK: report.Verification.OK,
				check: func(cfg *config.Config) error { return checkServed(cfg, args) },
				text: lines(func(out io.Writer, v report.Verification) {
					terminal.PrintVerification(out, v)
					if !repair && !v.OK() {
						fmt.Fprintln(out, "`syncd verify --repair` replaces them with verified copies")
					}
				}),
			}
			req := request.Verify{Manifests: args, Rate: bytes}
			if repair {
				return w.run(cmd.Context(), a, req)
			}
			cfg, err := w.load(a)
			if err != nil {
				return err
			}
			result, err := verifyFiles(cmd.Context(), cfg, req)
			if err != nil {
				return err
			}
			return w.print(a, result)
		},
	}
	cmd.Flags().BoolVar(&repair, "repair", false, "replace damaged files with verified copies")
	cmd.Flags().StringVar(&rate, "rate", "1GiB", "read at most this `size` per second, such as 500MiB; 0 for no limit")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// verifyFiles re-reads what is served, and the exports unless the request names manifests.
func verifyFiles(ctx context.Context, cfg *config.Config, req request.Verify) (result report.Verification, err error) {
	m, err := mirror.Open(cfg.DataDir, &durable.Disk{})
	if err != nil {
		return result, err
	}
	result, checked, err := status.Verify(ctx, m, req)
	if err != nil || len(req.Manifests) > 0 {
		return result, err
	}
	exported, err := status.VerifyExports(ctx, m, checked, engine.Exports(cfg), req.Rate)
	result.Add(exported)
	return result, err
}
