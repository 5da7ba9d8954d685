package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"syncd/cmd/syncd/cli"
	"syncd/internal/config"
	"syncd/internal/engine/operation"
	"syncd/internal/ui/control"
)

func healthcheckCommand(a *cli.App) *cobra.Command {
	var ready bool
	cmd := &cobra.Command{
		Use: "healthcheck", Short: "Check that the daemon is alive: exit 0 or 1", Args: cli.Arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return healthcheck(cmd.Context(), a, ready) },
	}
	cmd.Flags().BoolVar(&ready, "ready", false, "also require that every manifest has data")
	return cmd
}

// healthPatience is shorter than the usual timeout of a HEALTHCHECK.
const healthPatience = 5 * time.Second

func healthcheck(ctx context.Context, a *cli.App, ready bool) error {
	// A mistake in the configuration file does not affect the running daemon. The
	// check must not fail for it: a container engine would restart the daemon into it.
	cfg, broken := a.Load()
	if broken != nil {
		cfg = &config.Config{DataDir: config.DataDir(a.ConfigFile())}
	}
	a.WarnOf(cfg)
	ctx, cancel := context.WithTimeout(ctx, healthPatience)
	defer cancel()
	client, err := control.Dial(ctx, cli.StateDir(cfg))
	if errors.Is(err, control.ErrNotRunning) {
		err = fmt.Errorf("%w on data_dir %s: start it, or read its log", err, cfg.DataDir)
	}
	if err != nil {
		return cmp.Or(broken, err)
	}
	defer client.Close()
	op := operation.Alive
	if ready {
		op = operation.Ready
	}
	if err := op.Ask(ctx, client); err != nil {
		return err
	}
	if broken != nil {
		a.Warn(fmt.Sprintf("%v: the running syncd uses the old configuration, the next start would fail", broken))
	}
	fmt.Fprintln(a.Stdout, "ok")
	return nil
}
