package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"syncd/cmd/syncd/cli"
	"syncd/internal/config"
	"syncd/internal/disk/durable"
	"syncd/internal/engine/operation"
	"syncd/internal/mirror"
	"syncd/internal/report"
	"syncd/internal/report/request"
	"syncd/internal/syncer/lockfile"
	"syncd/internal/ui/control"
	"syncd/internal/ui/terminal"
)

func syncCommand(a *cli.App) *cobra.Command {
	var req request.Sync
	var asJSON, quiet bool
	var lockFile string
	cmd := &cobra.Command{
		Use: "sync [MANIFEST...]", Short: "Sync once; a running daemon does it and shows its progress",
		Long: `Sync the named manifests, or all. When a daemon is running, it does the sync, and
this command shows its progress.

With --locked, make exactly what a lock file of 'syncd lock' names: all of its
manifests, or none if one of them cannot be made. The provider is not asked which
release is the newest, so the next sync of a manifest with release latest goes on
from there.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			req.Manifests = args
			if err := readLockfile(&req, lockFile); err != nil {
				return err
			}
			return syncOnce(cmd.Context(), a, req, asJSON, quiet)
		},
	}
	cmd.Flags().BoolVar(&req.DryRun, "dry-run", false, "show what a sync would do, the space it needs and what goes, and change nothing")
	cmd.Flags().BoolVar(&req.Force, "force", false, "override the shrink and downgrade guards and the hold after a rollback")
	cmd.Flags().StringVar(&lockFile, "locked", "", "make exactly what this lock `file` names, or nothing")
	cmd.Flags().StringSliceVar(&req.TakeOver, "take-over", nil, "replace the folder at the export of this `VIEW`, and keep it as <path>.before-syncd")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.Flags().BoolVar(&quiet, "quiet", false, "print nothing but errors")
	return cmd
}

// readLockfile adds a lock file to the request.
func readLockfile(req *request.Sync, file string) error {
	if file == "" {
		return nil
	}
	if len(req.Manifests) > 0 {
		return cli.Usagef("--locked makes all manifests of the lock file: leave %s out", strings.Join(req.Manifests, ", "))
	}
	text, err := lockfile.Read(file)
	if err != nil {
		return cli.Usagef("--locked: %w", err)
	}
	if _, err := lockfile.Parse(text); err != nil {
		return cli.Usagef("--locked %s: %w", file, err)
	}
	req.Lockfile = text
	return nil
}

// A signal ends the sync of this process, or the wait for the sync of another one.
var (
	errSyncInterrupted  = errors.New("interrupted: the next sync continues the downloads")
	errProbeInterrupted = errors.New("interrupted: what went live has no verdict of its probe yet, and the next sync asks again")
	errWaitInterrupted  = errors.New("interrupted: the running syncd continues the sync; `syncd status` shows its state")
)

func syncOnce(ctx context.Context, a *cli.App, req request.Sync, asJSON, quiet bool) error {
	cfg, err := a.LoadAndWarn()
	if err != nil {
		return err
	}
	if err := checkNames(cfg, req.Manifests); err != nil {
		return err
	}
	if err := checkTakeOver(cfg, req.TakeOver); err != nil {
		return err
	}
	req.Demand, req.Trigger = true, request.TriggerCommand
	var result report.Sync
	isTold := false // of the probe
	interrupted := errSyncInterrupted
	err = a.WithEngine(ctx, cfg, func(e operation.Engine) error {
		if _, isRemote := e.(*control.Client); isRemote {
			interrupted = errWaitInterrupted
		}
		progress := a.Progress(quiet)
		defer progress.Close()
		op := operation.Sync
		if len(req.Lockfile) > 0 {
			op = operation.SyncLocked
		}
		result, err = op.Watch(ctx, e, req, func(p report.Progress) {
			progress.Show(p)
			if isProbing := len(p.Probing) > 0 && !p.Syncing; isProbing && !isTold && !quiet {
				a.Note("asking whether the consumer works with what went live: " + strings.Join(p.Probing, ", "))
				isTold = true
			}
		})
		return err
	})
	if err == nil && len(req.Manifests) == 0 && len(req.Lockfile) == 0 {
		warnOfUnsynced(a, cfg, result)
	}
	if err != nil && ctx.Err() != nil && isTold && errors.Is(interrupted, errSyncInterrupted) {
		return errProbeInterrupted
	}
	if err != nil && ctx.Err() != nil {
		return interrupted
	}
	if err != nil && len(result.Manifests) == 0 {
		return err
	}
	printed := work[request.Sync, report.Sync]{
		asJSON: asJSON, errors: terminal.PrintErrors, isOK: report.Sync.OK,
		text: lines(func(w io.Writer, r report.Sync) {
			if !quiet {
				terminal.PrintSync(w, r, req.DryRun)
			}
		}),
	}.print(a, result)
	return cmp.Or(err, printed)
}

// warnOfUnsynced names the manifests of the file that a daemon did not load yet.
func warnOfUnsynced(a *cli.App, cfg *config.Config, result report.Sync) {
	for _, name := range cfg.Names() {
		if !slices.ContainsFunc(result.Manifests, func(m report.ManifestResult) bool { return m.Name == name }) {
			a.Warn(fmt.Sprintf("%s was not synced: "+notLoaded, name, "it"))
		}
	}
}

// checkTakeOver requires that each view is exported.
func checkTakeOver(cfg *config.Config, names []string) error {
	for _, name := range names {
		if !slices.ContainsFunc(cfg.Views, func(v config.View) bool { return v.Name == name && v.Export != "" }) {
			return cli.Usagef("--take-over: %q is no view with an export in %s", name, cfg.Path)
		}
	}
	return nil
}

func checkNames(cfg *config.Config, names []string) error {
	for _, name := range names {
		if !cfg.Has(name) {
			return cli.Usagef("manifest %q is not in %s, which has: %s", name, cfg.Path, strings.Join(cfg.Names(), ", "))
		}
	}
	return nil
}

// checkServed is checkNames for what is served, too, although it left the configuration.
func checkServed(cfg *config.Config, names []string) error {
	if checkNames(cfg, names) == nil {
		return nil
	}
	m, err := mirror.Open(cfg.DataDir, &durable.Disk{})
	if err != nil {
		return err
	}
	defer m.Close()
	served := m.Current().Records
	return checkNames(cfg, slices.DeleteFunc(slices.Clone(names), func(name string) bool { return served[name].Manifest != "" }))
}
