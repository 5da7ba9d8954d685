package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"syncd/cmd/syncd/cli"
	"syncd/internal/disk/durable"
	"syncd/internal/mirror"
	"syncd/internal/mirror/audit"
	"syncd/internal/report"
)

func servedCommand(a *cli.App) *cobra.Command {
	var at string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "served --at TIME [PATH]", Short: "Show what was served at a time, with digests", Args: cli.Arguments(0, 1),
		Long: `Show which releases were served at a time in the past, and since when. With PATH, as
below current/, show the files there with their SHA-256. The records outlive the files:
'audit: {keep: 2y}' in the configuration says for how long.

  syncd served --at 2026-10-03T12:00:00Z dq_addr_data/ews.txt`,
		RunE: func(_ *cobra.Command, args []string) error {
			moment, err := cli.ParseMoment(at)
			if err != nil {
				return cli.Usagef("--at %w", err)
			}
			return showServed(a, moment, strings.Join(args, ""), asJSON)
		},
	}
	cmd.Flags().StringVar(&at, "at", "", "the `time`, such as 2026-10-03T12:00:00Z")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// servedTree is a manifest or view that was served, as `served --json` prints it.
type servedTree struct {
	Name       string       `json:"name"`
	Tree       string       `json:"tree"` // release and revision, or the fingerprint of a view
	LiveSince  time.Time    `json:"live_since"`
	Generation int          `json:"generation"` // that it went live with
	Files      []audit.File `json:"files,omitempty"`
}

func showServed(a *cli.App, at time.Time, name string, asJSON bool) error {
	cfg, err := a.LoadAndWarn()
	if err != nil {
		return err
	}
	now := time.Now()
	switch {
	case at.After(now):
		return cli.Usagef("--at %s lies in the future", report.Moment(at.Local()))
	case at.Before(now.Add(-cfg.Audit.Keep)):
		return fmt.Errorf("%s is longer ago than audit.keep in %s", report.Moment(at.Local()), cfg.Path)
	}
	m, err := mirror.Open(cfg.DataDir, &durable.Disk{})
	if err != nil {
		return err
	}
	defer m.Close() //nolint:errcheck // it was only read
	entries, err := servedAt(a, m, at, path.Clean("/" + name)[1:])
	if err != nil {
		return err
	}
	if asJSON {
		return a.PrintJSON(map[string]any{"at": at, "served": entries})
	}
	for _, e := range entries {
		since := report.Moment(e.LiveSince.Local())
		if name == "" {
			fmt.Fprintf(a.Stdout, "%s  %s  live since %s\n", e.Name, e.Tree, since)
		}
		for _, f := range e.Files {
			fmt.Fprintf(a.Stdout, "%s  %s  %s  live since %s\n", f.Object, f.Path, e.Tree, since)
		}
	}
	return nil
}

// servedAt lists everything that was served, or the files at a path.
func servedAt(a *cli.App, m *mirror.Mirror, at time.Time, name string) ([]servedTree, error) {
	events, damaged, err := audit.Read(m.Root())
	if err != nil {
		return nil, err
	}
	if len(damaged) > 0 {
		a.Warn(fmt.Sprintf("%d damaged lines in state/audit/events: what they say is missing here", len(damaged)))
	}
	if len(events) == 0 {
		return nil, errors.New("there are no records yet: they begin with the first sync")
	}
	first := slices.MinFunc(events, func(x, y audit.Event) int { return cmp.Compare(x.At.UnixNano(), y.At.UnixNano()) })
	if at.Before(first.At) {
		return nil, fmt.Errorf("the records begin at %s", first.At.Format(time.RFC3339Nano))
	}
	top, _, _ := strings.Cut(name, "/")
	list := []servedTree{}
	for _, e := range slices.SortedFunc(maps.Values(audit.At(events, at)), func(x, y audit.Event) int { return cmp.Compare(x.Name, y.Name) }) {
		entry := servedTree{Name: e.Name, Tree: e.Tree, LiveSince: e.At, Generation: e.Generation}
		if name != "" {
			if e.Name != top {
				continue
			}
			if entry.Files, err = audit.Files(m.Root(), e, name); err != nil {
				return nil, err
			}
			if len(entry.Files) == 0 {
				continue
			}
		}
		list = append(list, entry)
	}
	if name != "" && len(list) == 0 {
		return nil, fmt.Errorf("nothing was served at %s then", name)
	}
	return list, nil
}
