package estimate

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"
	"github.com/spf13/cobra"

	"syncd/cmd/syncd/cli"
	"syncd/internal/disk/durable"
	"syncd/internal/downstream/patch"
	"syncd/internal/host/priority"
	"syncd/internal/mirror"
	"syncd/internal/mirror/revisions"
	"syncd/internal/report"
	"syncd/internal/ui/terminal"
)

// estimate is what the step between two revisions of a manifest costs.
type estimate struct {
	Manifest  string       `json:"manifest"`
	From      string       `json:"from"`
	To        string       `json:"to"`
	Files     []patch.Cost `json:"files"`
	Unchanged int          `json:"unchanged"` // files whose content the earlier revision has, too
	Sum       patch.Sum    `json:"sum"`
}

// Command is `syncd estimate`.
func Command(a *cli.App) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "estimate [MANIFEST]", Short: "Show how many bytes the newest release takes: whole, in zstd, as patches", Args: cli.Arguments(0, 1),
		Long: `Show how many bytes carry each file of the newest revision on disk to a host that has the
revision before it: the whole file, the file in zstd, and a patch against the file of the
same path. Contents that the earlier revision has, too, cost nothing.

The numbers tell what publish.patches saves the followers of this host.

It makes everything that it counts and keeps nothing of it, with the lowest priority. Expect
a minute for each 2 GB of new contents, on one core.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			all, err := estimates(cmd.Context(), a, args)
			if err != nil {
				return err
			}
			if asJSON {
				return a.PrintJSON(map[string]any{"manifests": all})
			}
			return show(a, all)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func estimates(ctx context.Context, a *cli.App, names []string) ([]estimate, error) {
	cfg, err := a.LoadAndWarn()
	if err != nil {
		return nil, err
	}
	// The files of a provider are not read as root.
	if err := cli.BecomeOwner(cfg.DataDir); err != nil {
		return nil, err
	}
	if err := priority.Lower(); err != nil {
		a.Warn(err.Error())
	}
	m, err := mirror.Open(cfg.DataDir, &durable.Disk{})
	if err != nil {
		return nil, err
	}
	defer m.Close() //nolint:errcheck // it was only read
	if m.Root() == nil {
		return nil, fmt.Errorf("nothing is mirrored in %s yet: run `syncd sync`", cfg.DataDir)
	}
	isNamed := len(names) > 0
	if !isNamed {
		names = slices.Sorted(maps.Keys(m.Current().Records))
	}
	all := []estimate{}
	for _, name := range names {
		e, err := estimateOf(ctx, m, name)
		if !isNamed && errors.Is(err, revisions.ErrOnlyOne) {
			a.Warn(err.Error())
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, nil
}

func estimateOf(ctx context.Context, m *mirror.Mirror, name string) (estimate, error) {
	pair, err := revisions.Newest(m, name)
	if err != nil {
		return estimate{}, err
	}
	e := estimate{Manifest: name, From: pair[0].ID(), To: pair[1].ID()}
	e.Files, err = patch.Estimate(ctx, revisions.Folder(m, pair[0]), revisions.Folder(m, pair[1]))
	if err != nil {
		return estimate{}, fmt.Errorf("%s: %w", name, err)
	}
	e.Unchanged = len(pair[1].Files) - len(e.Files)
	e.Sum = patch.SumOf(e.Files)
	return e, nil
}

// show prints estimates for people.
func show(a *cli.App, all []estimate) error {
	for i, e := range all {
		if i > 0 {
			fmt.Fprintln(a.Stdout)
		}
		fmt.Fprintf(a.Stdout, "%s: from %s to %s\n", line(e.Manifest), line(e.From), line(e.To))
		if len(e.Files) > 0 {
			table := terminal.NewTable(a.Stdout, "CHANGE", "FILE", "WHOLE", "ZSTD", "PATCH")
			for _, c := range e.Files {
				delta := ""
				if c.Patch != nil {
					delta = size(*c.Patch)
				}
				table.Row(string(c.Change), c.Path, size(c.Whole), size(c.Zstd), delta)
			}
			if err := table.Flush(); err != nil {
				return err
			}
		}
		fmt.Fprintf(a.Stdout, "%s, %s unchanged: %s whole, %s in zstd, %s in the smallest form of each file\n",
			english.Plural(len(e.Files), "new content", ""), english.Plural(e.Unchanged, "file", ""), size(e.Sum.Whole), size(e.Sum.Zstd), size(e.Sum.Smallest))
	}
	return nil
}

func line(text string) string { return report.VisibleLine(text) }

func size(bytes int64) string { return humanize.IBytes(uint64(max(bytes, 0))) }
