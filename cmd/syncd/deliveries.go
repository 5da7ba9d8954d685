package main

import (
	"context"

	"github.com/spf13/cobra"

	"syncd/internal/engine"
	"syncd/internal/engine/operation"
	"syncd/internal/mirror"
	"syncd/internal/report"
	"syncd/internal/report/request"
	"syncd/internal/report/status"
	"syncd/internal/ui/terminal"
)

func (a *app) deliveriesCommand() *cobra.Command {
	var asJSON bool
	var retry, drop, hook string
	cmd := &cobra.Command{
		Use: "deliveries", Short: "List the events that hooks were not told yet, try one again or drop it", Args: arguments(0, 0),
		Long: `List the events that hooks were not told yet, with or without a daemon: those that wait
(pending), those that were given up after a week (given_up), and those of hooks that
left the configuration (orphaned).

--retry tries a delivery at once; one that was given up is tried for another week, after
those that wait. --drop removes it. Both act on all hooks with that event, or on --hook.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case retry != "" && drop != "":
				return usagef("--retry and --drop cannot be used together")
			case retry == "" && drop == "":
				return a.listDeliveries(cmd.Context(), asJSON)
			}
			return a.changeDeliveries(cmd.Context(), request.Deliveries{ID: retry + drop, Hook: hook, Drop: drop != ""}, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.Flags().StringVar(&retry, "retry", "", "try the deliveries of the event with this `ID` again")
	cmd.Flags().StringVar(&drop, "drop", "", "remove the deliveries of the event with this `ID`")
	cmd.Flags().StringVar(&hook, "hook", "", "only those of the hook with this `NAME`")
	return cmd
}

func (a *app) listDeliveries(ctx context.Context, asJSON bool) error {
	cfg, err := a.loadAndWarn()
	if err != nil {
		return err
	}
	deliveries, err := query(ctx, a, cfg, operation.Deliveries,
		func(_ *mirror.Mirror, s status.StateReader) (report.Deliveries, error) {
			return engine.DeliveriesOnDisk(cfg, s)
		})
	if err != nil {
		return err
	}
	return a.printDeliveries(deliveries, asJSON)
}

func (a *app) changeDeliveries(ctx context.Context, req request.Deliveries, asJSON bool) error {
	cfg, err := a.loadAndWarn()
	if err != nil {
		return err
	}
	a.deliverLast = true // a start would try at once
	var left report.Deliveries
	err = a.withEngine(ctx, cfg, func(e operation.Engine) error {
		left, err = operation.ChangeDeliveries.Do(ctx, e, req)
		return err
	})
	if err != nil {
		return err
	}
	return a.printDeliveries(left, asJSON)
}

func (a *app) printDeliveries(deliveries report.Deliveries, asJSON bool) error {
	if asJSON {
		return a.printJSON(deliveries)
	}
	return terminal.PrintDeliveries(a.stdout, deliveries)
}
