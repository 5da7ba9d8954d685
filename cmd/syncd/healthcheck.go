package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"syncd/internal/control"
)

func (a *app) healthcheckCommand() *cobra.Command {
	var ready bool
	cmd := &cobra.Command{
		Use: "healthcheck", Short: "Ask the daemon whether it is well: exit 0 or 1", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.healthcheck(cmd.Context(), ready) },
	}
	cmd.Flags().BoolVar(&ready, "ready", false, "also require that every manifest has data")
	return cmd
}

// healthPatience is less than what a container engine waits for its HEALTHCHECK.
const healthPatience = 5 * time.Second

func (a *app) healthcheck(ctx context.Context, ready bool) error {
	cfg, err := a.load()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, healthPatience)
	defer cancel()
	client, err := control.Dial(ctx, stateDir(cfg))
	if err != nil {
		return err
	}
	defer client.Close()
	if err := client.Health(ctx, ready); err != nil {
		return err
	}
	fmt.Fprintln(a.stdout, "ok")
	return nil
}
