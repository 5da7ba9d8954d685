package terminal

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/dustin/go-humanize"

	"syncd/internal/report"
)

// PrintStatus writes a table of the manifests, followed by their progress and errors.
func PrintStatus(w io.Writer, s report.Status) error {
	printPlace(w, s)
	if err := printManifests(w, s.Manifests); err != nil {
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
		case m.Probe != nil && m.Probe.State != report.ProbeProven:
			fmt.Fprintf(w, "\n%s: %s\n", m.Name, m.Explanation)
		}
	}
	if s.Scrub != nil {
		fmt.Fprintf(w, "\nscrub: %s\n", s.Scrub.Explanation)
	}
	if s.Upload != nil {
		fmt.Fprintln(w)
		for _, t := range s.Upload.All() {
			fmt.Fprintf(w, "publish: %s\n", t.Explanation)
		}
	}
	if s.Patches != nil {
		fmt.Fprintf(w, "\npatches: %s for other hosts, %s\n", humanize.Comma(int64(s.Patches.Count)), humanize.IBytes(uint64(s.Patches.Bytes)))
	}
	for _, source := range s.Sources {
		fmt.Fprintf(w, "\n%s\n", source.Explanation)
	}
	if s.Upstream != nil {
		fmt.Fprintf(w, "\nupstream: %s\n", s.Upstream.Explanation)
	}
	if err := printExports(w, s.Exports); err != nil {
		return err
	}
	return printHooks(w, s.Hooks)
}

// printPlace writes the data directory, its generation, and whether a daemon runs.
func printPlace(w io.Writer, s report.Status) {
	generation := fmt.Sprint(s.Generation)
	switch {
	case s.Damage != "":
		generation = "damaged: " + s.Damage
	case s.Generation == 0 && slices.ContainsFunc(s.Manifests, isSyncing):
		generation = "none yet"
	case s.Generation == 0:
		generation = "none yet: run `syncd sync`"
	}
	daemon := "not running"
	if s.Daemon {
		daemon = "running"
	}
	fmt.Fprintf(w, "data_dir    %s\ngeneration  %s\ndaemon      %s\n", s.DataDir, generation, daemon)
	if s.ReadOnly {
		fmt.Fprintln(w, "read-only   nothing can be written to the file system of data_dir: mount it for writing to sync")
	}
	fmt.Fprintln(w)
}

// printManifests writes a table of the manifests.
func printManifests(w io.Writer, manifests []report.ManifestStatus) error {
	table := NewTable(w, "MANIFEST", "RELEASE", "STATE", "FILES", "SIZE", "CHECKED", "NEXT")
	for _, m := range manifests {
		state := string(m.State)
		if m.HeldFrom != "" {
			state += " (from " + m.HeldFrom + ")"
		}
		if m.Pin != "" {
			state += " (pinned)"
		}
		if m.HoldUntil != nil {
			state += " (until " + timeOrDash(m.HoldUntil) + ")"
		}
		if m.Staged != nil {
			state += " (" + m.Staged.Release + ")"
		}
		state += inBrackets(expiry(m))
		table.Row(m.Name, orDash(releaseName(m.Release, m.Revision)), state,
			m.Files, size(m.Bytes), timeOrDash(m.CheckedAt), timeOrDash(m.NextSync))
	}
	return table.Flush()
}

// printHooks writes a table of the hooks, and what is wrong with them.
func printHooks(w io.Writer, hooks []report.HookStatus) error {
	if len(hooks) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	table := NewTable(w, "HOOK", "RECEIVER", "WAITING", "OLDEST", "GIVEN UP", "NEXT TRY")
	for _, h := range hooks {
		table.Row(h.Name, h.Receiver, h.Pending, timeOrDash(h.OldestAt), h.GivenUp, timeOrDash(h.NextTry))
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
	table := NewTable(w, "ID", "HOOK", "EVENT", "MANIFEST", "TIME", "STATE", "ATTEMPTS", "NEXT TRY", "ERROR")
	for _, e := range d.Deliveries {
		table.Row(e.ID, e.Hook, e.Event, e.Manifest, timeOrDash(&e.At), e.State,
			e.Attempts, timeOrDash(e.NextTry), orDash(e.Error))
	}
	return table.Flush()
}

func printExports(w io.Writer, exports []report.ExportStatus) error {
	if len(exports) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	table := NewTable(w, "VIEW", "EXPORT", "STATE", "GENERATION")
	for _, e := range exports {
		generation := "-"
		if e.Generation > 0 {
			generation = fmt.Sprint(e.Generation)
		}
		state := string(e.State)
		if e.Since != nil {
			state += " (since " + timeOrDash(e.Since) + ")"
		}
		table.Row(e.View, e.Path, state, generation)
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
	fmt.Fprintln(w)
	table := NewTable(w, "VIEW", "LAYOUT", "STATE", "FILES", "SIZE", "TREE")
	for _, v := range views {
		table.Row(v.Name, v.Layout, v.State, v.Files, size(v.Bytes), orDash(v.Fingerprint))
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

// PrintExplanations writes a line for each sentence.
func PrintExplanations(w io.Writer, list []report.Explanation) {
	for _, e := range list {
		about := map[string]string{"manifest": "", "view": "view ", "export": "export of view ", "hook": "hook "}
		if lead, named := about[e.Kind]; named {
			fmt.Fprintf(w, "%s%s: %s\n", lead, e.Name, e.Explanation)
		} else {
			fmt.Fprintf(w, "%s: %s\n", e.Kind, e.Explanation)
		}
		printQuarantine(w, e.Quarantined)
	}
}

// printQuarantine writes what a gate found, indented.
func printQuarantine(w io.Writer, q *report.QuarantinedRevision) {
	if q == nil {
		return
	}
	for _, line := range q.Differences {
		fmt.Fprintf(w, "  %s\n", line)
	}
	for _, line := range q.Lines {
		fmt.Fprintf(w, "  %s: %s\n", cmp.Or(q.Reason, "gate"), line)
	}
}

func isSyncing(m report.ManifestStatus) bool { return m.State == report.StateSyncing }

// PrintHistory writes a table with a line for each manifest of each entry.
func PrintHistory(w io.Writer, h report.History) error {
	if len(h.Entries) == 0 {
		fmt.Fprintln(w, "no syncs yet")
		return nil
	}
	table := NewTable(w, "TIME", "GENERATION", "TRIGGER", "MANIFEST", "RELEASE", "RESULT", "FETCHED")
	for _, entry := range h.Entries {
		number := "-"
		if entry.Generation > 0 {
			number = fmt.Sprint(entry.Generation)
		}
		if entry.OnDisk {
			number += " *"
		}
		for _, m := range entry.Manifests {
			table.Row(timeOrDash(&entry.Time), number, entry.Trigger,
				m.Name, orDash(releaseName(m.Release, m.Revision)), string(m.Result)+inBrackets(m.Reason), size(m.BytesDownloaded))
		}
		for _, name := range entry.Removed {
			table.Row(timeOrDash(&entry.Time), number, entry.Trigger, name, "-", "removed", "-")
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w, "\n* on disk: `syncd rollback GENERATION` goes back to it")
	return nil
}

// expiry says until when the data of a manifest may be used, "" for no such day.
func expiry(m report.ManifestStatus) string {
	switch {
	case m.Expires == "":
		return ""
	case m.State == report.StateExpired:
		return m.Withdrawn.Release + " on " + m.Expires
	case m.Expired:
		return "expired " + m.Expires
	}
	return "expires " + m.Expires
}
