package main

import (
	"github.com/spf13/cobra"

	"syncd/cmd/syncd/cli"
	"syncd/cmd/syncd/setup"
	"syncd/internal/config"
)

var here = linux

// linuxCommands are those that are built for Linux only.
func linuxCommands(a *cli.App) []*cobra.Command {
	return []*cobra.Command{runCommand(a), readersCommand(a), serveIDCommand(a), doctorCommand(a), setup.Command(a, runDoctor)}
}

// checkServers reads the files of the daemon's servers.
func checkServers(cfg *config.Config) error {
	webConfig, err := openWebConfig(cfg)
	if err != nil {
		return err
	}
	defer webConfig.Close()
	followers, err := openFollowers(cfg)
	if err == nil {
		err = followers.openIDs(cfg)
	}
	if err != nil {
		return err
	}
	return followers.Close()
}
