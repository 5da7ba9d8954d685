//go:build !linux

package main

import (
	"github.com/spf13/cobra"

	"syncd/cmd/syncd/cli"
	"syncd/internal/config"
)

// linuxCommands are none: system.limit tells about them.
func linuxCommands(a *cli.App) []*cobra.Command { return nil }

// checkServers checks nothing: only the daemon has servers.
func checkServers(*config.Config) error { return nil }
