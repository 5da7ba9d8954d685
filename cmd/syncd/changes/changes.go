package changes

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"syncd/cmd/syncd/cli"
	"syncd/internal/changes"
	"syncd/internal/changes/spill"
	"syncd/internal/config"
	"syncd/internal/disk/durable"
	"syncd/internal/mirror"
	"syncd/internal/mirror/revisions"
)

// shownSamples is how many rows of each kind are shown.
const shownSamples = 10

// Command is `syncd changes`.
func Command(a *cli.App) *cobra.Command {
	var rows, asJSON bool
	cmd := &cobra.Command{
		Use: "changes MANIFEST [FROM [TO]]", Short: "Show how two revisions differ: files, and rows of text files", Args: cli.Arguments(1, 3),
		Long: `Show how two revisions of a manifest differ, by default the one that was served before
and the served one. FROM and TO are releases, revisions, served, staged, or folders (with
a slash). Without TO, it is the served one.

Files are compared by the digests in the records; of folders, every file is read. With
--rows, the text files that differ are read, too: rows added, gone and changed, changed rows
by column, and the first ten of each. manifests[].rows in the configuration says how to
read them and which columns identify a row.

  syncd changes dq_addr_data served staged --rows`,
		RunE: func(cmd *cobra.Command, args []string) error {
			report, err := compare(cmd.Context(), a, args, rows)
			if err != nil {
				return err
			}
			if asJSON {
				return a.PrintJSON(report)
			}
			return show(a.Stdout, report)
		},
	}
	cmd.Flags().BoolVar(&rows, "rows", false, "compare the rows of text files")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// side is one of the two that are compared.
type side struct {
	name   string
	folder changes.Folder
}

// isFolder is true for an argument that names a folder. Releases and revisions have no
// slash.
func isFolder(text string) bool {
	return strings.ContainsAny(text, `/\`) || text == "." || text == ".."
}

func compare(ctx context.Context, a *cli.App, args []string, rows bool) (changes.Report, error) {
	none := changes.Report{}
	name, args := args[0], args[1:]
	folders := 0
	for _, text := range args {
		if isFolder(text) {
			folders++
		}
	}
	cfg, err := a.LoadAndWarn()
	if errors.Is(err, fs.ErrNotExist) && folders == 2 {
		cfg, err = &config.Config{}, nil
	}
	if err != nil {
		return none, err
	}
	if folders == 0 {
		// The rows of a provider are not read as root.
		if err := cli.BecomeOwner(cfg.DataDir); err != nil {
			return none, err
		}
	}
	var m *mirror.Mirror
	if folders < 2 {
		m, err = mirror.Open(cfg.DataDir, &durable.Disk{})
		if err != nil {
			return none, err
		}
		defer m.Close() //nolint:errcheck // it was only read
		if m.Root() == nil {
			return none, fmt.Errorf("nothing is mirrored in %s yet: run `syncd sync`", cfg.DataDir)
		}
	}
	var sides [2]side
	if len(args) == 0 {
		sides, err = byDefault(m, name)
	} else {
		sides, err = named(ctx, m, name, args)
	}
	if err != nil {
		return none, err
	}
	report := changes.Report{Manifest: name, From: sides[0].name, To: sides[1].name}
	before, after := sides[0].folder, sides[1].folder
	report.Files = changes.Files(before.Files, after.Files)
	if rows {
		c := changes.Comparison{Rules: rulesOf(cfg, name), Samples: shownSamples}
		if m != nil {
			if state, err := m.Root().OpenDir("state"); err == nil {
				defer state.Close() //nolint:errcheck // nothing is kept in it
				c.Scratch = spill.Folder{Dir: state}.OrTemporary()
			}
		}
		if err := c.Rows(ctx, before, after, report.Files); err != nil {
			return none, err
		}
	}
	report.Summary = changes.Summarize(before.Files, after.Files, report.Files)
	return report, nil
}

// rulesOf says how to read the rows of a manifest.
func rulesOf(cfg *config.Config, name string) []changes.Rule {
	for _, m := range cfg.Manifests {
		if m.Name == name {
			return m.Rows
		}
	}
	return nil
}

// byDefault are the revision that was served before, and the served one.
func byDefault(m *mirror.Mirror, name string) (sides [2]side, err error) {
	for i, find := range []func(*mirror.Mirror, string) (mirror.Record, error){revisions.Earlier, revisions.ServedOf} {
		r, err := find(m, name)
		if err != nil {
			return sides, err
		}
		sides[i] = side{r.ID(), revisions.Folder(m, r)}
	}
	return sides, nil
}

// named are the sides that arguments name.
func named(ctx context.Context, m *mirror.Mirror, name string, args []string) (sides [2]side, err error) {
	if len(args) == 1 {
		args = append(slices.Clone(args), revisions.Served)
	}
	for i, text := range args {
		if isFolder(text) {
			sides[i].name = text
			sides[i].folder, err = changes.ReadFolder(ctx, text)
		} else {
			var r mirror.Record
			r, err = revisions.Find(m, name, text)
			sides[i] = side{r.ID(), revisions.Folder(m, r)}
		}
		if err != nil {
			return sides, err
		}
	}
	return sides, nil
}
