package trust

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"syncd/cmd/syncd/cli"
	"syncd/internal/downstream/trust"
	"syncd/internal/report"
	"syncd/internal/ui/terminal"
)

// shown is `trust show --json`.
type shown struct {
	Origin      string       `json:"origin"`
	Fingerprint string       `json:"fingerprint"` // of the first version
	Version     int          `json:"version"`
	Threshold   int          `json:"threshold"`
	Expires     time.Time    `json:"expires"`
	Expired     bool         `json:"expired"`
	Keys        []shownKey   `json:"keys"`
	Versions    []versionRow `json:"versions"`
}

type shownKey struct {
	Name string `json:"name"`
	Key  string `json:"key"`
}

type versionRow struct {
	Version   int       `json:"version"`
	SHA256    string    `json:"sha256"`
	Threshold int       `json:"threshold"`
	Expires   time.Time `json:"expires"`
	Keys      []string  `json:"keys"`
	SignedBy  []string  `json:"signed_by"`
}

func show(chain trust.Chain, now time.Time) shown {
	newest := chain.Newest()
	s := shown{
		Origin: newest.Origin, Fingerprint: chain.Root().Fingerprint(), Version: newest.Version, Threshold: newest.Threshold,
		Expires: newest.Expires, Expired: newest.HasExpired(now), Keys: []shownKey{}, Versions: []versionRow{},
	}
	for _, key := range newest.Keys {
		s.Keys = append(s.Keys, shownKey{key.Name(), key.String()})
	}
	before := chain.Root()
	for _, text := range chain {
		signers := names(append(before.SignersOf(text.Bytes()), text.SignersOf(text.Bytes())...))
		slices.Sort(signers)
		s.Versions = append(s.Versions, versionRow{text.Version, text.Fingerprint(), text.Threshold, text.Expires, names(text.Keys), slices.Compact(signers)})
		before = text
	}
	return s
}

func names(keys []trust.Key) []string {
	list := make([]string, len(keys))
	for i, key := range keys {
		list[i] = key.Name()
	}
	return list
}

func showCommand(a *cli.App) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "show FILE", Short: "Show the versions and keys of a trust file", Args: cli.Arguments(1, 1),
		Long: `Show the versions and keys of a trust file, after a check of all its signatures.`,
		RunE: func(_ *cobra.Command, args []string) error {
			chain, err := readChain(args[0])
			if err != nil {
				return err
			}
			shown := show(chain, time.Now())
			if asJSON {
				return a.PrintJSON(shown)
			}
			return shown.print(a.Stdout)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func (s shown) print(w io.Writer) error {
	ends := "until " + report.Moment(s.Expires)
	if s.Expired {
		ends = "EXPIRED at " + report.Moment(s.Expires)
	}
	fmt.Fprintf(w, "origin       %s\nfingerprint  %s\nversion      %d, %s\nsigned by    %d of %d keys\n\n", s.Origin, s.Fingerprint, s.Version, ends, s.Threshold, len(s.Keys))
	keys := terminal.NewTable(w, "NAME", "KEY")
	for _, key := range s.Keys {
		keys.Row(key.Name, key.Key)
	}
	if err := keys.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w)
	versions := terminal.NewTable(w, "VERSION", "THRESHOLD", "KEYS", "SIGNED BY")
	for _, v := range s.Versions {
		versions.Row(fmt.Sprint(v.Version), fmt.Sprint(v.Threshold), strings.Join(v.Keys, ", "), cmp.Or(strings.Join(v.SignedBy, ", "), "-"))
	}
	return versions.Flush()
}
