package terminal

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"syncd/internal/report"
)

func newTable(w io.Writer) *tabwriter.Writer { return tabwriter.NewWriter(w, 0, 0, 2, ' ', 0) }

// PrintStatus writes a table of the manifests, followed by their progress and errors.
func PrintStatus(w io.Writer, s report.Status) error {
	generation := fmt.Sprint(s.Generation)
	if s.Generation == 0 {
		generation = "none yet: run `syncd sync`"
		if slices.ContainsFunc(s.Manifests, isSyncing) {
			generation = "none yet"
		}
	}
	daemon := "not running"
	if s.Daemon {
		daemon = "running"
	}
	if s.Damage != "" {
		generation = "damaged: " + s.Damage
	}
	fmt.Fprintf(w, "data_dir    %s\ngeneration  %s\ndaemon      %s\n", s.DataDir, generation, daemon)
	if s.ReadOnly {
		fmt.Fprintln(w, "read-only   nothing can be written to the file system of data_dir: mount it for writing to sync")
	}
	fmt.Fprintln(w)
	table := newTable(w)
	fmt.Fprintln(table, "MANIFEST\tRELEASE\tSTATE\tFILES\tSIZE\tCHECKED\tNEXT")
	for _, m := range s.Manifests {
		state := string(m.State)
		if m.HeldFrom != "" {
			state += " (from " + m.HeldFrom + ")"
		}
		if m.Pin != "" {
			state += " (pinned)"
		}
		if m.HoldUntil != nil {
			state += " (until " + m.HoldUntil.Local().Format(timeFormat) + ")"
		}
		if m.Staged != nil {
			state += " (" + m.Staged.Release + ")"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%s\t%s\t%s\n", m.Name, orDash(releaseName(m.Release, m.Revision)), state,
			m.Files, size(m.Bytes), timeOrDash(m.CheckedAt), timeOrDash(m.NextSync))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if err := printViews(w, s.Views); err != nil {
		return err
	}
	for _, m := range s.Manifests {
		switch {
		case isSyncing(m):
			fmt.Fprintf(w, "\n%s: %s\n", m.Name, m.Explanation)
		case m.Error != "" && m.Error != s.Damage:
			fmt.Fprintf(w, "\n%s: %s\n", m.Name, m.Error)
		}
	}
	if s.Scrub != nil {
		fmt.Fprintf(w, "\nscrub: %s\n", s.Scrub.Explanation)
	}
	if s.Upload != nil {
		fmt.Fprintf(w, "\npublish: %s\n", s.Upload.Explanation)
	}
	if err := printExports(w, s.Exports); err != nil {
		return err
	}
	return printHooks(w, s.Hooks)
}

// printHooks writes a table of the hooks, and what is wrong with them.
func printHooks(w io.Writer, hooks []report.HookStatus) error {
	if len(hooks) == 0 {
		return nil
	}
	table := newTable(w)
	fmt.Fprintln(table, "\nHOOK\tRECEIVER\tWAITING\tOLDEST\tGIVEN UP\tNEXT TRY")
	for _, h := range hooks {
		fmt.Fprintf(table, "%s\t%s\t%d\t%s\t%d\t%s\n", h.Name, h.Receiver, h.Pending, timeOrDash(h.OldestAt), h.GivenUp, timeOrDash(h.NextTry))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, h := range hooks {
		if text := h.Explanation(); text != "" {
			fmt.Fprintf(w, "\n%s: %s\n", h.Name, text)
		}
	}
	return nil
}

// PrintDeliveries writes a table of deliveries.
func PrintDeliveries(w io.Writer, d report.Deliveries) error {
	if len(d.Deliveries) == 0 {
		fmt.Fprintln(w, "every event was delivered")
		return nil
	}
	table := newTable(w)
	fmt.Fprintln(table, "ID\tHOOK\tEVENT\tMANIFEST\tTIME\tSTATE\tATTEMPTS\tNEXT TRY\tERROR")
	for _, e := range d.Deliveries {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%d\t%s\t%s\n", e.ID, e.Hook, e.Event, e.Manifest, timeOrDash(&e.At), e.State,
			e.Attempts, timeOrDash(e.NextTry), orDash(e.Error))
	}
	return table.Flush()
}

func printExports(w io.Writer, exports []report.ExportStatus) error {
	if len(exports) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	table := newTable(w)
	fmt.Fprintln(table, "VIEW\tEXPORT\tSTATE\tGENERATION")
	for _, e := range exports {
		generation := "-"
		if e.Generation > 0 {
			generation = fmt.Sprint(e.Generation)
		}
		state := string(e.State)
		if e.Since != nil {
			state += " (since " + timeOrDash(e.Since) + ")"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", e.View, e.Path, state, generation)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, e := range exports {
		if e.Explanation != "" {
			fmt.Fprintf(w, "\n%s: %s\n", e.View, e.Explanation)
		}
	}
	return nil
}

// printViews writes a table of the views, and what is wrong with them.
func printViews(w io.Writer, views []report.ViewStatus) error {
	if len(views) == 0 {
		return nil
	}
	table := newTable(w)
	fmt.Fprintln(table, "\nVIEW\tLAYOUT\tSTATE\tFILES\tSIZE\tTREE")
	for _, v := range views {
		fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%s\t%s\n", v.Name, v.Layout, v.State, v.Files, size(v.Bytes), orDash(v.Fingerprint))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, v := range views {
		if v.State != report.StateInSync {
			fmt.Fprintf(w, "\n%s: %s\n", v.Name, v.Explanation)
		}
	}
	return nil
}

// PrintQuarantine writes what a gate found, indented.
func PrintQuarantine(w io.Writer, q *report.QuarantinedRevision) {
	if q == nil {
		return
	}
	for _, line := range q.Differences {
		fmt.Fprintf(w, "  %s\n", line)
	}
	for _, line := range q.Lines {
		fmt.Fprintf(w, "  gate: %s\n", line)
	}
}

func isSyncing(m report.ManifestStatus) bool { return m.State == report.StateSyncing }

// PrintHistory writes a table with a line for each manifest of each entry.
func PrintHistory(w io.Writer, h report.History) error {
	if len(h.Entries) == 0 {
		fmt.Fprintln(w, "no syncs yet")
		return nil
	}
	table := newTable(w)
	fmt.Fprintln(table, "TIME\tGENERATION\tTRIGGER\tMANIFEST\tRELEASE\tRESULT\tDOWNLOADED")
	for _, entry := range h.Entries {
		number := "-"
		if entry.Generation > 0 {
			number = fmt.Sprint(entry.Generation)
		}
		if entry.OnDisk {
			number += " *"
		}
		for _, m := range entry.Manifests {
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", entry.Time.Local().Format(timeFormat), number, entry.Trigger,
				m.Name, orDash(releaseName(m.Release, m.Revision)), string(m.Result)+inBrackets(m.Reason), size(m.BytesDownloaded))
		}
		for _, name := range entry.Removed {
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t-\tremoved\t-\n", entry.Time.Local().Format(timeFormat), number, entry.Trigger, name)
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w, "\n* on disk: `syncd rollback GENERATION` goes back to it")
	return nil
}
