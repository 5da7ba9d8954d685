package main

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"syncd/internal/config"
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
	// A file that was broken beside a daemon does not make that ill: who ends it for
	// that, as a container engine does, turns a slip into an outage.
	cfg, broken := a.load()
	if broken != nil {
		cfg = &config.Config{DataDir: config.DataDir(a.configFile())}
	}
	ctx, cancel := context.WithTimeout(ctx, healthPatience)
	defer cancel()
	client, err := control.Dial(ctx, stateDir(cfg))
	if err != nil {
		return cmp.Or(broken, err)
	}
	defer client.Close()
	if err := client.Health(ctx, ready); err != nil {
		return err
	}
	if broken != nil {
		fmt.Fprintf(a.stderr, "syncd: warning: %v: the running syncd goes on without it, the next start would not\n", broken)
	}
	fmt.Fprintln(a.stdout, "ok")
	return nil
}
