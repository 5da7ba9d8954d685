package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"syncd/cmd/syncd/cli"
	"syncd/internal/emulator"
)

func emulatorCommand(a *cli.App) *cobra.Command {
	cfg := emulator.Config{}
	var faults []string
	cmd := &cobra.Command{
		Use: "emulator", Short: "Run a provider on loopback, for tests", Args: cli.Arguments(0, 0),
		Long: `Run the provider's services on loopback, with invented sample data or with your own
files. --root DIR serves DIR/<manifest>/<release>/..., and the products in
DIR/Product/<release>/; a folder added while the emulator runs is a new release.
The sample data includes the product DataQualitySuite, and the library WINDOWS/NET/ANY
mdTool.exe with a variant of the tag NET7. For a bad release, add a folder that lacks
files or has empty ones. The emulator also answers the provider's own
updater. The other services answer from about 450 invented addresses.

It can inject faults of the kinds bad_range, body, change_etag, corrupt, date, delay,
no_length, no_ranges, no_validators, redirect, reset, shape, slow, stall, status and
truncate, for example:
  syncd emulator --fault 'kind=status,status=503,path=/Manifest/*,times=2'
  syncd emulator --fault 'kind=delay,delay=2s,host=property'
  curl -X POST --data 'kind=corrupt,path=/files/*,times=1' URL/-/faults
  curl -X DELETE URL/-/faults
  curl -X POST URL/-/advance      publishes the next release of the sample
  curl URL/-/contributions        lists the accepted contributions

host= limits a fault to one service: release, download, contribution, list,
property, autocomplete or reversegeo.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return emulate(cmd.Context(), a, cfg, faults) },
	}
	cmd.Flags().StringVar(&cfg.Root, "root", "", "serve files from `DIR`/<manifest>/<release>/ instead of the sample data")
	cmd.Flags().StringVar(&cfg.Listen, "listen", "127.0.0.1:0", "address of the release service")
	cmd.Flags().StringVar(&cfg.ListenDownload, "listen-download", "127.0.0.1:0", "address of the download host")
	cmd.Flags().StringVar(&cfg.CustomerID, "customer-id", "", "the only Customer ID accepted (default: any)")
	cmd.Flags().StringVar(&cfg.Prefix, "prefix", "Provider", "the prefix of names such as {Prefix}AddressKey")
	cmd.Flags().StringArrayVar(&faults, "fault", nil, "inject a fault; may be repeated")
	return cmd
}

func emulate(ctx context.Context, a *cli.App, cfg emulator.Config, faults []string) error {
	a.Secrets.Learn(cfg.CustomerID) // not a licence: no warning if it is short
	var parsed []emulator.Fault
	for _, text := range faults {
		fault, err := emulator.ParseFault(text)
		if err != nil {
			return cli.Usagef("--%w", err)
		}
		parsed = append(parsed, fault)
	}
	e, err := emulator.Start(cfg)
	if err != nil {
		return err
	}
	defer e.Close()
	if cfg.Root == "" {
		e.AddSample()
	}
	for _, fault := range parsed {
		e.AddFault(fault)
	}
	printAddresses(a.Stdout, e)
	fmt.Fprintf(a.Stdout, "In a configuration, set source.url to %s, with any customer_id. Ctrl-C stops the emulator.\n", e.URL())
	<-ctx.Done()
	return nil
}

// printAddresses writes a line for each service.
func printAddresses(w io.Writer, e *emulator.Emulator) {
	for _, service := range []struct{ name, url string }{
		{"release service", e.URL()},
		{"download host", e.DownloadURL()},
		{"contribution", e.ContributionURL()},
		{"list", e.ListURL()},
		{"property", e.PropertyURL()},
		{"autocomplete", e.AutocompleteURL()},
		{"autocomplete jsonp", e.AutocompleteJSONPURL()},
		{"reversegeo", e.ReverseGeoURL()},
	} {
		fmt.Fprintf(w, "%-18s  %s\n", service.name, service.url)
	}
}
