package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"

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

func (a *app) rollbackCommand() *cobra.Command {
	var req syncer.RollbackRequest
	var asJSON bool
	cmd := &cobra.Command{
		Use: "rollback [GENERATION]", Short: "Publish the revisions of an earlier generation again",
		Long: `Publish a new generation with the revisions of the previous generation, or of a
named one that is still on disk. Each manifest that went back is held there until
a release newer than the one it left, other digests for that one, or
'syncd sync --force'.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := parseRollback(&req, args); err != nil {
				return err
			}
			return a.rollback(cmd.Context(), req, asJSON)
		},
	}
	cmd.Flags().StringSliceVar(&req.Manifests, "manifest", nil, "go back with these manifests only")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// parseRollback takes one number; after --manifest further names may follow.
func parseRollback(req *syncer.RollbackRequest, args []string) error {
	for _, arg := range args {
		number, err := strconv.Atoi(arg)
		switch {
		case err == nil && number > 0 && req.Generation == 0:
			req.Generation = number
		case err != nil && len(req.Manifests) > 0:
			req.Manifests = append(req.Manifests, arg)
		default:
			return usagef("%q is not the number of a generation: `syncd history` lists them", arg)
		}
	}
	slices.Sort(req.Manifests)
	return nil
}

func (a *app) rollback(ctx context.Context, req syncer.RollbackRequest, asJSON bool) error {
	cfg, err := a.loadAndWarn()
	if err != nil {
		return err
	}
	if err := checkNames(cfg, req.Manifests); err != nil {
		return err
	}
	var report syncer.Report
	err = a.withHolder(ctx, cfg, func(h holder) error {
		report, err = h.Rollback(ctx, req)
		return err
	})
	if err != nil {
		return err
	}
	if asJSON {
		return a.printJSON(report)
	}
	for _, m := range report.Manifests {
		fmt.Fprintf(a.stdout, "%s  back at %s\n", m.Name, releaseOf(m.Release, m.Revision))
	}
	fmt.Fprintf(a.stdout, "generation %d is served\n", report.Generation)
	return nil
}
