package main

import (
	"context"
	"fmt"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"syncd/internal/durable"
	"syncd/internal/mirror"
	"syncd/internal/syncer"
)

func (a *app) verifyCommand() *cobra.Command {
	var repair, asJSON bool
	cmd := &cobra.Command{
		Use: "verify [MANIFEST...]", Short: "Re-read the published files against their digests",
		Long: `Re-read what is served of the named manifests, or of all, with all cores, and name
each damaged file. With --repair, fetch a proven copy of it and put it in place.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			report, err := a.verify(cmd.Context(), args, repair)
			if err != nil {
				return err
			}
			return a.tellDamage(report, asJSON)
		},
	}
	cmd.Flags().BoolVar(&repair, "repair", false, "replace damaged files by proven copies")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func (a *app) verify(ctx context.Context, manifests []string, repair bool) (report syncer.RepairReport, err error) {
	cfg, err := a.loadAndWarn()
	if err != nil {
		return report, err
	}
	if err := checkNames(cfg, manifests); err != nil {
		return report, err
	}
	if repair {
		err = a.withHolder(ctx, cfg, func(h holder) error {
			display := a.display(false)
			defer display.close()
			report, err = h.Repair(ctx, manifests, display.show)
			return err
		})
		return report, err
	}
	m, err := mirror.Open(cfg.DataDir, &durable.Disk{})
	if err != nil {
		return report, err
	}
	report, _, err = syncer.Verify(ctx, m, manifests)
	return report, err
}

func (a *app) tellDamage(report syncer.RepairReport, asJSON bool) error {
	if asJSON {
		if err := a.printJSON(report); err != nil {
			return err
		}
	} else {
		for _, d := range report.Damage {
			word := "DAMAGED"
			if d.Repaired {
				word = "repaired"
			}
			fmt.Fprintf(a.stdout, "%s  %s/%s: %s\n", word, d.Manifest, d.Path, d.Error)
		}
		fmt.Fprintf(a.stdout, "%d files (%s) read, %d damaged\n", report.Files, humanize.IBytes(uint64(report.Bytes)), len(report.Damage))
	}
	if !report.OK() {
		return errTold
	}
	return nil
}
