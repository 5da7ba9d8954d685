package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"syncd/internal/config"
	"syncd/internal/report"
	"syncd/internal/request"
)

func (a *app) syncCommand() *cobra.Command {
	var req request.Sync
	var asJSON, quiet bool
	cmd := &cobra.Command{
		Use: "sync [MANIFEST...]", Short: "Sync once, or ask the running daemon to",
		Long: `Sync the named manifests, or all. Beside a running daemon it asks that one, and
shows its progress.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			req.Manifests = args
			return a.sync(cmd.Context(), req, asJSON, quiet)
		},
	}
	cmd.Flags().BoolVar(&req.DryRun, "dry-run", false, "tell what a sync would do and change nothing")
	cmd.Flags().BoolVar(&req.Force, "force", false, "override the shrink and downgrade guards and the hold after a rollback")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.Flags().BoolVar(&quiet, "quiet", false, "print nothing but errors")
	return cmd
}

// What a signal ends is the sync of this process, or its waiting for another's.
var (
	errSyncInterrupted = errors.New("interrupted: what was fetched so far is kept for the next sync")
	errWaitInterrupted = errors.New("interrupted: the running syncd goes on with it; `syncd status` shows how it stands")
)

func (a *app) sync(ctx context.Context, req request.Sync, asJSON, quiet bool) error {
	cfg, err := a.loadAndWarn()
	if err != nil {
		return err
	}
	if err := checkNames(cfg, req.Manifests); err != nil {
		return err
	}
	req.Demand, req.Trigger = true, "command"
	var result report.Sync
	interrupted := errSyncInterrupted
	err = a.withEngine(ctx, cfg, func(e engineClient) error {
		if _, isOwn := e.(ownEngine); !isOwn {
			interrupted = errWaitInterrupted
		}
		display := a.display(quiet)
		defer display.close()
		result, err = e.Sync(ctx, req, display.show)
		return err
	})
	if err != nil && ctx.Err() != nil {
		return interrupted
	}
	if err != nil && len(result.Manifests) == 0 {
		return err
	}
	told := a.tellReport(result, req.DryRun, asJSON, quiet)
	if err != nil {
		return err
	}
	return told
}

func checkNames(cfg *config.Config, names []string) error {
	for _, name := range names {
		if !cfg.Has(name) {
			return usagef("manifest %q is not in %s, which has: %s", name, cfg.Path, strings.Join(cfg.Names(), ", "))
		}
	}
	return nil
}

// tellReport prints a report; failures go to stderr and decide the exit code.
func (a *app) tellReport(result report.Sync, dryRun, asJSON, quiet bool) error {
	switch {
	case asJSON:
		if err := a.printJSON(result); err != nil {
			return err
		}
	case !quiet:
		for _, m := range result.Manifests {
			if m.Error == "" {
				fmt.Fprintln(a.stdout, line(m, dryRun))
			}
		}
		fmt.Fprintln(a.stdout, outcome(result, dryRun))
	}
	for _, m := range result.Manifests {
		if m.Error == "" {
			continue
		}
		fmt.Fprintf(a.stderr, "syncd: %s: %s%s: %s\n", m.Name, m.Result, inBrackets(m.Reason), m.Error)
	}
	if !result.OK() {
		return errTold
	}
	return nil
}

func (a *app) printJSON(value any) error {
	encoder := json.NewEncoder(a.stdout)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

func inBrackets(s string) string {
	if s == "" {
		return ""
	}
	return " (" + s + ")"
}

// line sums up one manifest for people.
func line(m report.ManifestResult, dryRun bool) string {
	if m.Result == report.Unchanged {
		return fmt.Sprintf("%s  %s  unchanged: %d files", m.Name, releaseOf(m.Release, m.Revision), m.FilesTotal)
	}
	verb := "downloaded"
	if dryRun {
		verb = "to download"
	}
	return fmt.Sprintf("%s  %s  %s: %d of %d files %s (%s), %d reused (%s)", m.Name, releaseOf(m.Release, m.Revision), m.Result,
		m.FilesDownloaded, m.FilesTotal, verb, humanize.IBytes(uint64(m.BytesDownloaded)), m.FilesReused, humanize.IBytes(uint64(max(m.BytesReused, 0))))
}

func releaseOf(release, revision string) string {
	if revision == "" {
		return release
	}
	return release + "-" + revision
}

func outcome(result report.Sync, dryRun bool) string {
	switch {
	case dryRun:
		return fmt.Sprintf("dry run: nothing was changed, generation %d stays", result.Generation)
	case result.Changed:
		return fmt.Sprintf("generation %d is served", result.Generation)
	case result.Generation == 0:
		return "nothing is served yet"
	}
	return fmt.Sprintf("generation %d stays", result.Generation)
}
