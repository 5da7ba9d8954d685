package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"syncd/internal/config"
	"syncd/internal/engine/operation"
	"syncd/internal/ui/control"
)

func (a *app) healthcheckCommand() *cobra.Command {
	var ready bool
	cmd := &cobra.Command{
		Use: "healthcheck", Short: "Check that the daemon is alive: exit 0 or 1", Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.healthcheck(cmd.Context(), ready) },
	}
	cmd.Flags().BoolVar(&ready, "ready", false, "also require that every manifest has data")
	return cmd
}

// healthPatience is shorter than the usual timeout of a HEALTHCHECK.
const healthPatience = 5 * time.Second

func (a *app) healthcheck(ctx context.Context, ready bool) error {
	// A mistake in the configuration file does not affect the running daemon. The
	// check must not fail for it: a container engine would restart the daemon into it.
	cfg, broken := a.load()
	if broken != nil {
		cfg = &config.Config{DataDir: config.DataDir(a.configFile())}
	}
	a.warnOf(cfg)
	ctx, cancel := context.WithTimeout(ctx, healthPatience)
	defer cancel()
	client, err := control.Dial(ctx, stateDir(cfg))
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
	if _, err := op.Ask(ctx, client); err != nil {
		return err
	}
	if broken != nil {
		fmt.Fprintf(a.stderr, "syncd: warning: %v: the running syncd uses the old configuration, the next start would fail\n", broken)
	}
	fmt.Fprintln(a.stdout, "ok")
	return nil
}
