package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"syncd/cmd/syncd/cli"
)

// buildVersion is set by the linker in release builds.
var buildVersion = ""

// version is buildVersion, or the version of the module in the build information.
func version() string {
	if buildVersion != "" {
		return buildVersion
	}
	info, ok := debug.ReadBuildInfo()
	if ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}

// buildTime is the time of the commit that the program was built from, or zero.
func buildTime() time.Time {
	info, _ := debug.ReadBuildInfo()
	if info == nil {
		return time.Time{}
	}
	i := slices.IndexFunc(info.Settings, func(s debug.BuildSetting) bool { return s.Key == "vcs.time" })
	if i < 0 {
		return time.Time{}
	}
	at, _ := time.Parse(time.RFC3339, info.Settings[i].Value) // zero when it is no time
	return at
}

func versionCommand(a *cli.App) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "version", Short: "Print the version", Args: cli.Arguments(0, 0),
		RunE: func(*cobra.Command, []string) error {
			if asJSON {
				return a.PrintJSON(map[string]string{"version": version(), "go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH})
			}
			_, err := fmt.Fprintf(a.Stdout, "syncd %s %s %s/%s\n", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}
