//go:build linux

package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"syncd/cmd/syncd/cli"
	"syncd/internal/config"
	"syncd/internal/config/document"
	"syncd/internal/downstream/serve"
	"syncd/internal/ui/terminal"
)

func serveIDCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "serve-id", Short: "Add, list or remove the ids of followers",
		Long: `Add, list or remove the ids of followers: other hosts that take the data from this one.
A follower uses its id as its Customer ID. The file serve.ids_file holds no id, only the
SHA-256 of each, its name and its ring.

A running daemon reads the file again on SIGHUP (systemctl reload syncd).`,
	}
	cmd.AddCommand(addIDCommand(a), listIDsCommand(a), removeIDCommand(a))
	return cmd
}

func addIDCommand(a *cli.App) *cobra.Command {
	var ring string
	cmd := &cobra.Command{
		Use: "add NAME", Short: "Make an id for a follower and print it, once", Args: cli.Arguments(1, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			cfg, err := withIDs(a)
			if err != nil {
				return err
			}
			for _, name := range append(args, ringNames(ring)...) {
				if _, err := config.ParseFollower(name); err != nil {
					return cli.Usagef("%q %w", name, err)
				}
			}
			warnOfRing(a, cfg, ring)
			var id string
			err = cfg.Changer.Run(func() (err error) {
				id, err = serve.AddID(cfg.Serve.IDsFile, args[0], ring)
				return err
			})
			if err != nil {
				return err
			}
			fmt.Fprintln(a.Stdout, id)
			fmt.Fprintln(a.Stderr, "syncd: note: this is the only time that the id is shown; a running daemon accepts it after SIGHUP (`systemctl reload syncd`)")
			return nil
		},
	}
	cmd.Flags().StringVar(&ring, "ring", "", "the `RING` of the follower, one of serve.rings")
	return cmd
}

func ringNames(ring string) []string {
	if ring == "" {
		return nil
	}
	return []string{ring}
}

// warnOfRing warns about a ring that the configuration does not have.
func warnOfRing(a *cli.App, cfg *config.Config, ring string) {
	for _, r := range cfg.Serve.Rings {
		if r.Name == ring {
			return
		}
	}
	if ring != "" {
		a.Warn(fmt.Sprintf("serve.rings has no ring %s: the follower sees what the last ring sees", ring))
	}
}

func listIDsCommand(a *cli.App) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "List the names and rings of the ids", Args: cli.Arguments(0, 0),
		RunE: func(*cobra.Command, []string) error {
			cfg, err := withIDs(a)
			if err != nil {
				return err
			}
			ids, err := serve.ReadIDs(cfg.Serve.IDsFile)
			if err != nil {
				return err
			}
			table, listed := terminal.NewTable(a.Stdout, "NAME", "RING"), []map[string]string{}
			for _, id := range ids {
				table.Row(id.Name, id.Ring)
				listed = append(listed, map[string]string{"name": id.Name, "ring": id.Ring})
			}
			if asJSON {
				return a.PrintJSON(map[string]any{"ids": listed})
			}
			return table.Flush()
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func removeIDCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME", Short: "Remove an id, so that it is refused", Args: cli.Arguments(1, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			cfg, err := withIDs(a)
			if err != nil {
				return err
			}
			if err := cfg.Changer.Run(func() error { return serve.RemoveID(cfg.Serve.IDsFile, args[0]) }); err != nil {
				return err
			}
			fmt.Fprintln(a.Stderr, "syncd: note: a running daemon refuses the id after SIGHUP")
			return nil
		},
	}
}

// withIDs reads a configuration that names a file of ids.
func withIDs(a *cli.App) (*config.Config, error) {
	cfg, err := a.LoadAndWarn()
	if err == nil && cfg.Serve.IDsFile == "" {
		err = &document.Error{File: cfg.Path, Key: "serve.ids_file", Problem: "is missing", Suggestion: "name the file that shall hold the ids, such as /etc/syncd/downstream_ids"}
	}
	return cfg, err
}
