package main

import (
	"context"

	"github.com/spf13/cobra"

	"syncd/internal/config"
	"syncd/internal/config/document"
	"syncd/internal/engine"
	"syncd/internal/engine/operation"
	"syncd/internal/manifest"
	"syncd/internal/mirror"
	"syncd/internal/report"
	"syncd/internal/report/request"
	"syncd/internal/report/status"
	"syncd/internal/ui/terminal"
)

func (a *app) fleetCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "fleet", Short: "Show the hosts that follow this one, with or without a daemon", Args: arguments(0, 0),
		Long: `Show the hosts that follow this one: what each serves, and which release it refused.
Below the table stand the releases that are kept from later rings, because too many
hosts of an earlier one refused them. 'syncd fleet release' shows them such a release.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := a.loadServing()
			if err != nil {
				return err
			}
			view, err := query(cmd.Context(), a, cfg, operation.FleetStatus,
				func(m *mirror.Mirror, s status.StateReader) (report.FleetStatus, error) {
					return engine.FleetOnDisk(cfg, m, s)
				})
			if err != nil {
				return err
			}
			if asJSON {
				return a.printJSON(view)
			}
			return terminal.PrintFleet(a.stdout, view)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.AddCommand(a.fleetReleaseCommand())
	return cmd
}

// serveCommand keeps `syncd serve release`, the earlier name of `syncd fleet release`.
func (a *app) serveCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "serve", Short: "The earlier name of syncd fleet", Hidden: true}
	cmd.AddCommand(a.fleetReleaseCommand())
	return cmd
}

func (a *app) fleetReleaseCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "release RELEASE", Short: "Show a release to later rings although hosts refused it", Args: arguments(1, 1),
		Long: `Show a release to the rings from which it was kept because too many hosts of an
earlier ring refused it. Each ring sees it after its delay. From now on, no refusal
stops this release again.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			release, err := manifest.ParseRelease(args[0])
			if err != nil || release == manifest.Latest {
				return usagef("%q is not a release: write it in the form YYYY.MM", args[0])
			}
			return a.showRelease(cmd.Context(), string(release), asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON array of what had been stopped")
	return cmd
}

func (a *app) showRelease(ctx context.Context, release string, asJSON bool) error {
	cfg, err := a.loadServing()
	if err != nil {
		return err
	}
	ended := []report.Stop{}
	err = a.withEngine(ctx, cfg, func(e operation.Engine) error {
		found, err := operation.ServeRelease.Do(ctx, e, request.ServeRelease{Release: release})
		ended = append(ended, found...)
		return err
	})
	if err != nil {
		return err
	}
	if asJSON {
		return a.printJSON(ended)
	}
	terminal.PrintServed(a.stdout, release, ended)
	return nil
}

// loadServing reads a configuration that serves followers.
func (a *app) loadServing() (*config.Config, error) {
	cfg, err := a.loadAndWarn()
	if err == nil && !cfg.Serve.IsOn() {
		err = &document.Error{File: cfg.Path, Key: "serve.listen", Problem: "is missing", Suggestion: "set it on the host that others follow"}
	}
	return cfg, err
}
