package main

import (
	"fmt"

	"github.com/dustin/go-humanize/english"
	"github.com/spf13/cobra"

	"syncd/internal/clients/transport"
)

func (a *app) configCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "config", Short: "Work with the configuration"}
	cmd.AddCommand(&cobra.Command{
		Use: "check", Short: "Check the configuration file, the Customer ID, source.ca_file and http.web_config", Args: arguments(0, 0),
		RunE: func(*cobra.Command, []string) error {
			cfg, err := a.loadAndWarn()
			if err != nil {
				return err
			}
			id, err := a.readID(cfg)
			if err != nil {
				return err
			}
			if _, err := transport.New(clientConfig(cfg.Source.Service(), id)); err != nil { // reads ca_file
				return &usageError{err}
			}
			if err := checkWebConfig(cfg); err != nil {
				return err
			}
			fmt.Fprintf(a.stdout, "%s: ok, %s\n", cfg.Path, english.Plural(len(cfg.Manifests), "manifest", ""))
			return nil
		},
	})
	return cmd
}
