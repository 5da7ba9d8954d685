package main

import (
	"context"

	"github.com/spf13/cobra"

	"syncd/cmd/syncd/cli"
	"syncd/internal/engine"
	"syncd/internal/engine/operation"
	"syncd/internal/mirror"
	"syncd/internal/report"
	"syncd/internal/report/request"
	"syncd/internal/report/status"
	"syncd/internal/ui/terminal"
)

func deliveriesCommand(a *cli.App) *cobra.Command {
	var asJSON bool
	var retry, drop, hook string
	cmd := &cobra.Command{
		Use: "deliveries", Short: "List the events that hooks were not told yet, try one again or drop it", Args: cli.Arguments(0, 0),
		Long: `List the events that hooks were not told yet, with or without a daemon: those that wait
(pending), those that were given up after a week (given_up), and those of hooks that
left the configuration (orphaned).

--retry tries a delivery at once; one that was given up is tried for another week, after
those that wait. --drop removes it. Both act on all hooks with that event, or on --hook.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case retry != "" && drop != "":
				return cli.Usagef("--retry and --drop cannot be used together")
			case retry == "" && drop == "":
				return listDeliveries(cmd.Context(), a, asJSON)
			}
			return changeDeliveries(cmd.Context(), a, request.Deliveries{ID: retry + drop, Hook: hook, Drop: drop != ""}, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.Flags().StringVar(&retry, "retry", "", "try the deliveries of the event with this `ID` again")
	cmd.Flags().StringVar(&drop, "drop", "", "remove the deliveries of the event with this `ID`")
	cmd.Flags().StringVar(&hook, "hook", "", "only those of the hook with this `NAME`")
	return cmd
}

func listDeliveries(ctx context.Context, a *cli.App, asJSON bool) error {
	cfg, err := a.LoadAndWarn()
	if err != nil {
		return err
	}
	fromDisk := func(_ *mirror.Mirror, s status.StateReader) (report.Deliveries, error) {
		return engine.DeliveriesOnDisk(cfg, s)
	}
	return show(ctx, a, cfg, operation.Deliveries, fromDisk, asJSON, terminal.PrintDeliveries)
}

func changeDeliveries(ctx context.Context, a *cli.App, req request.Deliveries, asJSON bool) error {
	a.DeliverLast = true // a start would try at once
	return work[request.Deliveries, report.Deliveries]{
		operation: operation.ChangeDeliveries, asJSON: asJSON, text: terminal.PrintDeliveries,
	}.run(ctx, a, req)
}
