package main

import (
	"fmt"

	"github.com/dustin/go-humanize/english"
	"github.com/spf13/cobra"
)

func (a *app) configCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "config", Short: "Work with the configuration"}
	cmd.AddCommand(&cobra.Command{
		Use: "check", Short: "Check the configuration file, the Customer ID and http.web_config", Args: arguments(0, 0),
		RunE: func(*cobra.Command, []string) error {
			cfg, err := a.loadAndWarn()
			if err != nil {
				return err
			}
			if _, err := a.readID(cfg); err != nil {
				return err
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
