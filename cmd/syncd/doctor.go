//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"syncd/cmd/syncd/browse"
	"syncd/cmd/syncd/cli"
	"syncd/internal/clients/transport"
	"syncd/internal/config"
	"syncd/internal/doctor"
	"syncd/internal/downstream/serve"
	"syncd/internal/engine"
	"syncd/internal/engine/operation"
	"syncd/internal/manifest"
	"syncd/internal/report"
)

func doctorCommand(a *cli.App) *cobra.Command {
	var asJSON bool
	var user string
	cmd := &cobra.Command{
		Use: "doctor", Short: "Find what keeps syncd from working here, and say what to do", Args: cli.Arguments(0, 0),
		Long: `Find what keeps syncd from working on this machine, and say what to do: in the
configuration, the systemd unit, permissions, the disk, the network, at the provider and
in the running daemon. The worst findings come first. Exit code 1 means that something
fails; hints do not count.

Run it as root, so that it can check with the permissions of the daemon's user. It sends
some requests to the provider, downloads 1 MiB at most, and with publish.s3 writes and
removes a small object. The output holds no secret.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			result := runDoctor(cmd.Context(), a, user, nil)
			if asJSON {
				if err := a.PrintJSON(result); err != nil {
					return err
				}
			} else {
				printDoctor(a.Stdout, result)
			}
			if err := context.Cause(cmd.Context()); err != nil {
				return err
			}
			if !result.OK {
				return cli.ErrPrinted
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.Flags().StringVar(&user, "user", "", "check the permissions of this user (default: the daemon's)")
	return cmd
}

// runDoctor makes all checks. show may be nil.
func runDoctor(ctx context.Context, a *cli.App, user string, show func([]doctor.Finding)) doctor.Report {
	return doctor.Run(ctx, doctor.Options{
		ConfigFile: a.ConfigFile(), User: user, Version: version(), Getenv: a.Getenv, ChangerOf: cli.ChangerOf,
		AddSecret: a.Secrets.Add, Rings: ringsOfIDs, Show: show,
		CheckFiles: func(cfg *config.Config, id config.Secret) error { return checkFiles(a, cfg, id) },
		Connect: func(cfg *config.Config, id config.Secret, wrap func(doctor.Sign) doctor.Sign) (doctor.Source, error) {
			return connectDoctor(a, cfg, id, wrap)
		},
		Status: func(ctx context.Context, cfg *config.Config) (report.Status, error) {
			return cli.Ask(ctx, a, cfg, operation.Status, statusOnDisk(cfg))
		},
	})
}

// Someone waits for the doctor, so it gives up on a provider sooner than other commands.
const doctorRetries, doctorStall = 3 * time.Second, 10 * time.Second

func connectDoctor(a *cli.App, cfg *config.Config, id config.Secret, wrap func(doctor.Sign) doctor.Sign) (doctor.Source, error) {
	settings := a.ForPerson(engine.SourceConfig(cfg.Source, id))
	settings.Tell = nil // a finding tells it
	settings.Retry.MaxElapsed = min(settings.Retry.MaxElapsed, doctorRetries)
	settings.StallTimeout = min(settings.StallTimeout, doctorStall)
	if settings.Sign != nil {
		settings.Sign = wrap(settings.Sign)
	}
	carrier, err := transport.New(settings)
	if err != nil {
		return doctor.Source{}, err
	}
	client, err := cli.SourceOver(cfg, carrier)
	if err != nil {
		return doctor.Source{}, err
	}
	files := func(ctx context.Context, name string, release manifest.Release) (iter.Seq[manifest.Reference], error) {
		return browse.FilesOf(ctx, cfg, client, name, release)
	}
	return doctor.Source{Carrier: carrier, Provider: client, Files: files}, nil
}

// ringsOfIDs returns the ring of each id in a file, "" for none.
func ringsOfIDs(path string) (rings []string, err error) {
	ids, err := serve.ReadIDs(path)
	for _, id := range ids {
		rings = append(rings, id.Ring)
	}
	return rings, err
}

func printDoctor(w io.Writer, result doctor.Report) {
	count, together := map[doctor.Severity]int{}, map[string][]string{}
	for _, f := range result.Findings {
		count[f.Severity]++
		together[f.Text] = append(together[f.Text], f.Check)
	}
	for _, f := range result.Findings {
		if len(together[f.Text]) == 0 {
			continue // it stands with an earlier check that says the same
		}
		f.Check = strings.Join(together[f.Text], ", ")
		together[f.Text] = nil
		f.Print(w)
	}
	fmt.Fprintf(w, "\nsyncd %s with %s, user %s: failures %d, hints %d, skipped %d, ok %d\n", result.Version, result.Config, result.User,
		count[doctor.Failure], count[doctor.Hint], count[doctor.Skipped], count[doctor.OK])
}
