package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"syncd/cmd/syncd/cli"
	"syncd/internal/config"
	"syncd/internal/engine/operation"
	"syncd/internal/report"
	"syncd/internal/report/request"
)

func pinCommand(a *cli.App) *cobra.Command {
	var asJSON, force bool
	cmd := &cobra.Command{
		Use: "pin MANIFEST RELEASE", Short: "Keep a manifest at a release, whatever the configuration says", Args: cli.Arguments(2, 2),
		Long: `Mirror this release of a manifest from the next sync on, until 'syncd unpin'. It goes
before 'release' of the configuration, and may be an older one.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			release, err := config.ParseRelease(args[1])
			if err != nil {
				return cli.Usagef("RELEASE %w", err)
			}
			text := fmt.Sprintf("%s  pinned to %s", args[0], release)
			next := fmt.Sprintf(": `syncd sync %s` fetches it now, else the next sync does", args[0])
			return giveOrder(cmd.Context(), a, request.Order{Manifests: args[:1], Release: string(release), Force: force, Trigger: request.TriggerPin}, text, next, asJSON)
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "also a release that has expired")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func unpinCommand(a *cli.App) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "unpin MANIFEST", Short: "Follow the configured release again", Args: cli.Arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return giveOrder(cmd.Context(), a, request.Order{Manifests: args, Trigger: request.TriggerUnpin}, args[0]+"  follows the configuration", " from the next sync on", asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func skipCommand(a *cli.App) *cobra.Command {
	req := request.Order{Trigger: request.TriggerSkip}
	var asJSON bool
	cmd := &cobra.Command{
		Use: "skip MANIFEST RELEASE", Short: "Pass over a release of a manifest", Args: cli.Arguments(2, 2),
		Long: `Never go to this release of a manifest by 'release: latest'. The next newer release is
mirrored as usual.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			release, err := config.ParseRelease(args[1])
			if err != nil || !release.IsMonth() {
				return cli.Usagef("RELEASE %q is not a month such as 2026.10", args[1])
			}
			req.Manifests, req.Release = args[:1], string(release)
			text := fmt.Sprintf("%s  skips %s", args[0], release)
			if req.Undo {
				text = fmt.Sprintf("%s  no longer skips %s", args[0], release)
			}
			return giveOrder(cmd.Context(), a, req, text, "", asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.Flags().BoolVar(&req.Undo, "undo", false, "do not skip it any longer")
	return cmd
}

func holdCommand(a *cli.App) *cobra.Command {
	var until, span string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "hold MANIFEST...", Short: "Keep manifests as they are for a time", Args: cli.Arguments(1, -1),
		Long: `Keep manifests at the served revision until a time, or for a duration. Then they follow
the configuration again. 'syncd sync --force' ends a hold, and so does --for 0s.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			end, err := holdEnd(until, span, time.Now())
			if err != nil {
				return err
			}
			text := fmt.Sprintf("held until %s", report.Moment(end.Local()))
			if !end.After(time.Now()) {
				text = "no longer held"
			}
			return giveOrder(cmd.Context(), a, request.Order{Manifests: args, Until: end, Trigger: request.TriggerHold}, text, "", asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.Flags().StringVar(&until, "until", "", "the end of the hold, such as 2026-12-24T06:00:00+01:00, \"2026-12-24 06:00\" or 2026-12-24 (local `time`)")
	cmd.Flags().StringVar(&span, "for", "", "the `duration` of the hold, such as 12h or 7d")
	return cmd
}

// holdEnd is when a hold ends.
func holdEnd(until, span string, now time.Time) (time.Time, error) {
	if (until == "") == (span == "") {
		return time.Time{}, cli.Usagef("give either --until TIME or --for DURATION")
	}
	if span != "" {
		d, err := config.ParseLongDuration(span)
		if err != nil {
			return time.Time{}, cli.Usagef("--for %w", err)
		}
		return now.Add(d), nil
	}
	end, err := cli.ParseMoment(until)
	switch {
	case err != nil:
		return time.Time{}, cli.Usagef("--until %w", err)
	case !end.After(now):
		return time.Time{}, cli.Usagef("--until %s is in the past: `--for 0s` ends a hold", until)
	}
	return end, nil
}

// giveOrder notes an order and prints what has been done, and what comes next where no hold
// keeps the next sync from it.
func giveOrder(ctx context.Context, a *cli.App, req request.Order, done, next string, asJSON bool) error {
	return work[request.Order, report.Sync]{
		operation: operation.Order, check: named(req.Manifests), asJSON: asJSON,
		text: lines(func(w io.Writer, result report.Sync) {
			for _, m := range result.Manifests {
				if next != "" && m.HoldUntil != nil {
					next = fmt.Sprintf(" once its hold ends at %s: `syncd sync --force %s` ends it now", report.Moment(m.HoldUntil.Local()), m.Name)
				}
			}
			fmt.Fprintln(w, done+next)
			for _, m := range result.Manifests {
				if req.Trigger == request.TriggerHold && m.HoldUntil == nil && m.HeldFrom != "" {
					fmt.Fprintf(w, "%s  a rollback still holds it, from %s: `syncd sync --force %s` ends that\n", m.Name, m.HeldFrom, m.Name)
				}
			}
		}),
	}.run(ctx, a, req)
}
