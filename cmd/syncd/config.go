package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dustin/go-humanize/english"
	"github.com/spf13/cobra"

	"syncd/cmd/syncd/cli"
	"syncd/internal/clients/transport"
	"syncd/internal/config"
	"syncd/internal/downstream/believer"
)

func configCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{Use: "config", Short: "Work with the configuration"}
	cmd.AddCommand(configCheckCommand(a), fromUpdaterCommand(a))
	return cmd
}

func configCheckCommand(a *cli.App) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "check", Short: "Check the configuration file and the files that it names", Args: cli.Arguments(0, 0),
		RunE: func(*cobra.Command, []string) error {
			cfg, err := a.LoadAndWarn()
			if err == nil {
				var id config.Secret
				if id, err = a.ReadID(cfg); err == nil {
					err = checkFiles(a, cfg, id)
				}
			}
			switch {
			case asJSON:
				err = errors.Join(err, a.PrintJSON(newConfigCheck(a, cfg, err)))
			case err == nil:
				fmt.Fprintf(a.Stdout, "%s: ok, %s\n", cfg.Path, english.Plural(len(cfg.Manifests), "manifest", ""))
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// configCheck is what `config check --json` prints.
type configCheck struct {
	Config    string   `json:"config"`
	OK        bool     `json:"ok"`
	Manifests []string `json:"manifests"`
	Warnings  []string `json:"warnings"`
	Errors    []string `json:"errors"`
}

func newConfigCheck(a *cli.App, cfg *config.Config, err error) configCheck {
	check := configCheck{Config: a.ConfigFile(), OK: err == nil, Manifests: []string{}, Warnings: []string{}, Errors: []string{}}
	if cfg != nil {
		check.Manifests, check.Warnings = append(check.Manifests, cfg.Names()...), append(check.Warnings, cfg.Warnings()...)
	}
	if err != nil {
		check.Errors = strings.Split(err.Error(), "\n")
	}
	return check
}

// checkFiles reads the files that the configuration names.
func checkFiles(a *cli.App, cfg *config.Config, id config.Secret) error {
	if err := checkClients(a, cfg, id); err != nil {
		return err
	}
	if err := checkServers(cfg); err != nil {
		return err
	}
	return cmp.Or(cfg.CheckMaps(), cfg.ReadHookSecrets(), checkKeys(cfg))
}

// checkKeys reads the trust texts and the key of this host, as the daemon does at its start.
func checkKeys(cfg *config.Config) error {
	if _, err := believer.FromFile(cfg.Source.TrustFile, nil); err != nil {
		return cfg.Located("source", err)
	}
	_, err := cfg.Signer()
	return err
}

// checkClients makes the client of each configured service, which reads its ca_file.
func checkClients(a *cli.App, cfg *config.Config, id config.Secret) error {
	err := cfg.EachSource(func(key string, s *config.Source) error {
		ofSource := id
		if s != &cfg.Source {
			ofSource = "" // it goes to the first source alone
		}
		return checkClient(a, cfg, key, s.Service(), ofSource)
	})
	if err != nil {
		return err
	}
	services := cfg.Services.Configured()
	for _, key := range slices.Sorted(maps.Keys(services)) {
		if err := checkClient(a, cfg, "services."+key, services[key], id); err != nil {
			return err
		}
	}
	return nil
}

func checkClient(a *cli.App, cfg *config.Config, key string, s config.Service, id config.Secret) error {
	s.URL = cmp.Or(s.URL, s.JSONPURL)
	client, err := transport.New(a.ClientConfig(s, id))
	if err != nil {
		if located := cfg.Located(key, err); located != err { //nolint:errorlint // Located returns the same error
			return located
		}
		return cfg.At(key).Error(cfg.Path, err.Error(), "")
	}
	client.Close()
	return nil
}
