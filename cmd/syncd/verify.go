package main

import (
	"context"
	"fmt"

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
			result, err := verifyFiles(cmd.Context(), a, request.Verify{Manifests: args, Rate: bytes}, repair)
			if err != nil {
				return err
			}
			return printVerification(a, result, repair, asJSON)
		},
	}
	cmd.Flags().BoolVar(&repair, "repair", false, "replace damaged files with verified copies")
	cmd.Flags().StringVar(&rate, "rate", "1GiB", "read at most this `size` per second, such as 500MiB; 0 for no limit")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func verifyFiles(ctx context.Context, a *cli.App, req request.Verify, repair bool) (result report.Verification, err error) {
	cfg, err := a.LoadAndWarn()
	if err != nil {
		return result, err
	}
	if err := checkServed(cfg, req.Manifests); err != nil {
		return result, err
	}
	if repair {
		return cli.Do(ctx, a, cfg, operation.Repair, req, true)
	}
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

// printVerification prints a result; damage that is left decides the exit code.
func printVerification(a *cli.App, result report.Verification, repair, asJSON bool) error {
	if asJSON {
		if err := a.PrintJSON(result); err != nil {
			return err
		}
	} else {
		terminal.PrintVerification(a.Stdout, result)
		if !repair && !result.OK() {
			fmt.Fprintln(a.Stdout, "`syncd verify --repair` replaces them with verified copies")
		}
	}
	if !result.OK() {
		return cli.ErrPrinted
	}
	return nil
}
