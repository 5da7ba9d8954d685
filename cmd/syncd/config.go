package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/dustin/go-humanize/english"
	"github.com/spf13/cobra"

	"syncd/internal/clients/transport"
	"syncd/internal/config"
	"syncd/internal/config/document"
)

func (a *app) configCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "config", Short: "Work with the configuration"}
	cmd.AddCommand(&cobra.Command{
		Use: "check", Short: "Check the configuration file and the files that it names", Args: arguments(0, 0),
		RunE: func(*cobra.Command, []string) error {
			cfg, err := a.loadAndWarn()
			if err != nil {
				return err
			}
			id, err := a.readID(cfg)
			if err != nil {
				return err
			}
			if err := checkFiles(cfg, id); err != nil {
				return err
			}
			fmt.Fprintf(a.stdout, "%s: ok, %s\n", cfg.Path, english.Plural(len(cfg.Manifests), "manifest", ""))
			return nil
		},
	}, a.fromUpdaterCommand())
	return cmd
}

// checkFiles reads the files that the configuration names.
func checkFiles(cfg *config.Config, id config.Secret) error {
	if err := checkClients(cfg, id); err != nil {
		return err
	}
	if err := checkServers(cfg); err != nil {
		return err
	}
	return cmp.Or(cfg.CheckMaps(), cfg.ReadHookSecrets())
}

// checkClients makes the client of each configured service, which reads its ca_file.
func checkClients(cfg *config.Config, id config.Secret) error {
	if err := checkClient(cfg, "source", cfg.Source.Service(), id); err != nil {
		return err
	}
	services := cfg.Services.Configured()
	for _, key := range slices.Sorted(maps.Keys(services)) {
		if err := checkClient(cfg, "services."+key, services[key], id); err != nil {
			return err
		}
	}
	return nil
}

func checkClient(cfg *config.Config, key string, s config.Service, id config.Secret) error {
	s.URL = cmp.Or(s.URL, s.JSONPURL)
	client, err := transport.New(clientConfig(s, id))
	if err != nil {
		return &document.Error{File: cfg.Path, Key: key, Problem: err.Error()}
	}
	client.Close()
	return nil
}
