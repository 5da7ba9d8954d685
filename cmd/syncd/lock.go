package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"syncd/cmd/syncd/cli"
	"syncd/internal/clients/transport"
	"syncd/internal/disk/durable"
	"syncd/internal/mirror"
	"syncd/internal/syncer/lockfile"
)

func lockCommand(a *cli.App) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use: "lock", Short: "Write what is served, so that another host can make exactly the same", Args: cli.Arguments(0, 0),
		Long: `Write a lock file: the source, and for each served manifest its release and its files
with references, sizes and SHA-256 digests. 'syncd sync --locked FILE' makes exactly
that on another host with the same source.url and manifests, or refuses. A manifest
that left the configuration and is still served is left out.`,
		RunE: func(*cobra.Command, []string) error {
			if file == "" {
				var text bytes.Buffer // whole, because the lock file is written in pieces of bytes
				if err := writeLockfile(a, &text); err != nil {
					return err
				}
				_, err := a.Stdout.Write(text.Bytes())
				return err
			}
			return cli.ReplaceFile(file, 0o644, func(w io.Writer) error { return writeLockfile(a, w) })
		},
	}
	cmd.Flags().StringVarP(&file, "output", "o", "", "write to this `file` instead of standard output")
	return cmd
}

func writeLockfile(a *cli.App, w io.Writer) error {
	cfg, err := a.LoadAndWarn()
	if err != nil {
		return err
	}
	m, err := mirror.Open(cfg.DataDir, &durable.Disk{})
	if err != nil {
		return err
	}
	defer m.Close() //nolint:errcheck // it was only read
	current := m.Current()
	var manifests []mirror.Record
	for _, name := range current.Names() {
		if !cfg.Has(name) {
			a.Warn(fmt.Sprintf("%s left the configuration, and is left out: `syncd forget %s` stops serving it", name, name))
			continue
		}
		manifests = append(manifests, current.Records[name])
	}
	if len(manifests) == 0 {
		return errors.New("no manifest of the configuration is served: run `syncd sync`")
	}
	return lockfile.Write(w, transport.PublicURL(cfg.Source.URL), manifests)
}
