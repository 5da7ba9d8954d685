package main

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"syncd/cmd/syncd/cli"
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

func fleetCommand(a *cli.App) *cobra.Command {
	var asJSON, watches bool
	var fits request.Fleet
	cmd := &cobra.Command{
		Use: "fleet", Short: "Show the hosts that follow this one, with or without a daemon", Args: cli.Arguments(0, 0),
		Long: `Show the hosts that follow this one: what each serves, and which release it refused.
Below the table stand the numbers of hosts by ring, release and state, the releases that
are kept from later rings, because too many hosts of an earlier one refused them, and the
rings that wait until enough hosts of the ring before serve a release. 'syncd fleet
release' lets a release go on.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := loadServing(a)
			if err != nil {
				return err
			}
			look := func() error { return showFleet(cmd.Context(), a, cfg, fits, asJSON) }
			if watches {
				return a.Watch(cmd.Context(), look)
			}
			return look()
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.Flags().BoolVar(&watches, "watch", false, "show it again every 2 seconds until Ctrl-C; with --json, an object each time")
	cmd.Flags().StringVar(&fits.Ring, "ring", "", "show only hosts of this ring")
	cmd.Flags().StringVar(&fits.State, "state", "", "show only hosts in this state")
	cmd.Flags().StringVar(&fits.Release, "release", "", "show only hosts that serve, refused or hold this release")
	cmd.AddCommand(fleetReleaseCommand(a))
	return cmd
}

// showFleet prints page by page, so that a fleet of any size needs little memory.
func showFleet(ctx context.Context, a *cli.App, cfg *config.Config, fits request.Fleet, asJSON bool) error {
	if fits.State != "" && !slices.Contains(report.FollowerStates(), report.FollowerState(fits.State)) {
		return cli.Usagef("%q is not a state of a follower: docs/fleet.md lists them", fits.State)
	}
	write := func(ask func(request.Fleet) (report.FleetPage, error)) error {
		pages := report.FleetPages(func(after *request.Follower) (report.FleetPage, error) {
			req := fits
			req.After = after
			return ask(req)
		})
		if asJSON {
			return pages.WriteJSON(a.Stdout)
		}
		return terminal.PrintFleet(a.Stdout, pages)
	}
	return cli.Read(ctx, a, cfg, func(e operation.Engine) error {
		return write(func(req request.Fleet) (report.FleetPage, error) { return operation.Fleet.Do(ctx, e, req) })
	}, func(m *mirror.Mirror, s status.StateReader) error {
		ask, err := engine.FleetOnDisk(cfg, m, s)
		if err != nil {
			return err
		}
		return write(func(req request.Fleet) (report.FleetPage, error) {
			page, err := ask(req)
			if err != nil {
				return page, err
			}
			return report.VisibleCopy(page) // as the client does
		})
	})
}

// serveCommand keeps `syncd serve release`, the earlier name of `syncd fleet release`.
func serveCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{Use: "serve", Short: "The earlier name of syncd fleet", Hidden: true}
	cmd.AddCommand(fleetReleaseCommand(a))
	return cmd
}

func fleetReleaseCommand(a *cli.App) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "release RELEASE", Short: "Let a release go on to later rings although hosts refused or did not prove it", Args: cli.Arguments(1, 1),
		Long: `Show a release to the rings from which it was kept because too many hosts of an
earlier ring refused it, or too few serve it. Each ring sees it after its delay. From now
on, no refusal stops this release again, and no ring waits for a proof of it.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			release, err := manifest.ParseRelease(args[0])
			if err != nil || release == manifest.Latest {
				return cli.Usagef("%q is not a release: write it in the form YYYY.MM", args[0])
			}
			return showRelease(cmd.Context(), a, string(release), asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON array of what had been stopped")
	return cmd
}

func showRelease(ctx context.Context, a *cli.App, release string, asJSON bool) error {
	cfg, err := loadServing(a)
	if err != nil {
		return err
	}
	found, err := cli.Do(ctx, a, cfg, operation.ServeRelease, request.ServeRelease{Release: release}, false)
	if err != nil {
		return err
	}
	ended := append([]report.Stop{}, found...) // [] in JSON, not null
	if asJSON {
		return a.PrintJSON(ended)
	}
	terminal.PrintServed(a.Stdout, release, ended)
	return nil
}

// loadServing reads a configuration that serves followers.
func loadServing(a *cli.App) (*config.Config, error) {
	cfg, err := a.LoadAndWarn()
	if err == nil && !cfg.HasFleet() {
		err = &document.Error{File: cfg.Path, Key: "serve.listen", Problem: "is missing", Suggestion: "set it on the host that others follow, or serve.rings on one that publishes to a bucket"}
	}
	return cfg, err
}
