package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"syncd/internal/report"
	"syncd/internal/request"
)

func (a *app) explainCommand() *cobra.Command {
	return &cobra.Command{
		Use: "explain [MANIFEST]", Short: "Say in one sentence what is happening, or why nothing is, with or without a daemon",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := a.loadAndWarn()
			if err != nil {
				return err
			}
			for _, name := range args {
				if !cfg.Has(name) {
					return &request.UnknownManifestError{Name: name}
				}
			}
			status, err := a.statusNow(cmd.Context(), cfg)
			if err != nil {
				return err
			}
			return a.printExplanations(status, args)
		},
	}
}

// printExplanations prints a line for each manifest, or for the named ones. A
// daemon may not know one yet that the configuration has.
func (a *app) printExplanations(status report.Status, names []string) error {
	told := 0
	for _, m := range status.Manifests {
		if len(names) == 0 || slices.Contains(names, m.Name) {
			fmt.Fprintf(a.stdout, "%s: %s\n", m.Name, m.Explanation)
			told++
		}
	}
	if told < len(names) {
		return fmt.Errorf("the running syncd does not know %s yet: it reads the configuration again on SIGHUP", names[0])
	}
	return nil
}
