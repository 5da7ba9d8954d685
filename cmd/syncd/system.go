package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"syncd/cmd/syncd/cli"
	"syncd/internal/host/unitfile"
)

// system is an operating system. Linux has every command, others have some.
type system struct {
	name   string // "" for Linux
	config string // the default configuration file
	has    []string
	next   string // what to do for another command
}

var (
	linux = system{config: unitfile.DefaultConfig}
	macOS = system{
		name: "macOS", config: unitfile.DefaultConfig, has: append(slices.Clone(clientCommands), mirrorCommands...),
		next: "run it on Linux, for example in a container",
	}
	windows = system{
		name: "Windows", config: `C:\ProgramData\syncd\syncd.yaml`, has: clientCommands,
		next: "run it on Linux, for example in WSL 2 or in a container",
	}
)

// clientCommands need no mirror.
var clientCommands = []string{"releases", "manifests", "files", "get", "call", "emulator", "config", "trust", "version", "completion"}

// mirrorCommands work on a mirror without a daemon. Windows lacks them: it cannot replace
// the symlink that readers follow in one step.
var mirrorCommands = []string{
	"sync", "demo", "status", "explain", "history", "verify", "rollback", "probe", "activate", "pin", "unpin", "hold", "skip", "forget",
	"publish", "bundle", "adopt", "lock", "deliveries", "served", "map",
}

// linuxOnly are the commands of linuxCommands. They need systemd, /proc, permissions of
// threads or the daemon's signals.
var linuxOnly = []string{"run", "readers", "serve-id", "doctor", "setup"}

// limit replaces the commands that the system lacks: their help and their error say so.
func (s system) limit(root *cobra.Command) {
	if s.name == "" {
		return
	}
	lacking := slices.Clone(linuxOnly)
	for _, cmd := range root.Commands() {
		if !slices.Contains(s.has, cmd.Name()) {
			lacking = append(lacking, cmd.Name())
			root.RemoveCommand(cmd)
		}
	}
	for _, name := range lacking {
		root.AddCommand(s.absent(name))
	}
	root.Long += fmt.Sprintf("\n\nOn %s, these commands work: %s.\nFor the others, use Linux. See docs/first-hour.md.", s.name, strings.Join(s.has, ", "))
}

// absent stands for a command that the system lacks.
func (s system) absent(name string) *cobra.Command {
	text := fmt.Sprintf("`syncd %s` does not work on %s: %s", name, s.name, s.next)
	return &cobra.Command{
		Use: name, Short: "Does not work on " + s.name, Args: cobra.ArbitraryArgs, Hidden: true,
		Long:               text + ".\nThese commands work here: " + strings.Join(s.has, ", ") + ".",
		FParseErrWhitelist: cobra.FParseErrWhitelist{UnknownFlags: true},
		RunE: func(*cobra.Command, []string) error {
			return cli.Usagef("%s; these commands work here: %s", text, strings.Join(s.has, ", "))
		},
	}
}
