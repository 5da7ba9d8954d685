package terminal

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"syncd/internal/report"
)

// PrintFleet writes a table of the followers page by page, what was stopped, and what was
// destroyed.
func PrintFleet(w io.Writer, pages report.FleetPages) error {
	var stopped []report.Stop
	var destroyed []report.Destroyed
	var waiting []report.WaitingRing
	var counts []report.FleetCount
	var signed *report.Signed
	table, shown := NewTable(w, "NAME", "HOST", "RING", "RELEASE", "STATE", "HOLDS", "LAST SEEN"), 0
	err := pages.Each(func(page report.FleetPage) error {
		counts = append(counts, page.Counts...)
		stopped, destroyed = append(stopped, page.Stopped...), append(destroyed, page.Destroyed...)
		waiting = append(waiting, page.Waiting...)
		signed = cmp.Or(signed, page.Signed)
		for _, f := range page.Followers {
			table.Row(orDash(f.Name), orDash(f.Host), orDash(f.Ring), orDash(string(f.Release)), fleetState(f.Following), orDash(f.HeldText()), timeOrDash(&f.LastSeen))
		}
		if shown += len(page.Followers); shown == 0 {
			return nil
		}
		return table.Flush()
	})
	if err == nil && shown == 0 {
		_, err = fmt.Fprintln(w, "no follower fits, or none has polled yet")
	}
	if err == nil {
		err = printCounts(w, counts)
	}
	if signed != nil {
		fmt.Fprintf(w, "\nwhat followers get is %s\n", signed.Text())
	}
	for _, s := range stopped {
		fmt.Fprintf(w, "\n%s\n", stopText(s))
	}
	for _, ring := range waiting {
		fmt.Fprintf(w, "\n%s.\n", ring.Text(time.Now()))
	}
	for _, d := range destroyed {
		fmt.Fprintf(w, "\n%s\n", d.Text())
	}
	return err
}

// printCounts writes how many hosts are alike, if there are several.
func printCounts(w io.Writer, counts []report.FleetCount) error {
	if len(counts) < 2 {
		return nil
	}
	if _, err := fmt.Fprintln(w); err != nil {
		return err
	}
	table := NewTable(w, "RING", "RELEASE", "STATE", "HOSTS")
	for _, c := range counts {
		table.Row(orDash(c.Ring), c.Release, string(c.State), fmt.Sprint(c.Hosts))
	}
	return table.Flush()
}

// fleetState is the state of a follower, with the release that it refused, or that it is
// offered and has not taken.
func fleetState(t report.Following) string {
	switch {
	case t.Offered != "" && t.Offered == t.Release:
		return fmt.Sprintf("%s (newer files of it are offered)", t.State)
	case t.Offered != "":
		return fmt.Sprintf("%s (%s is offered)", t.State, t.Offered)
	case t.Refused == "":
		return string(t.State)
	}
	return fmt.Sprintf("%s %s (%s)", t.State, t.Refused, t.Reason)
}

func stopText(s report.Stop) string {
	return fmt.Sprintf("%s of %s is stopped from ring %s on: %d of %d hosts of ring %s refused it (%s). `syncd fleet release %s` lets it go on.",
		releaseName(string(s.Release), s.Revision), s.Manifest, s.From, s.Refused, s.Of, s.By, strings.Join(s.Hosts, ", "), s.Release)
}

// PrintServed writes what a release that may go on had been kept from.
func PrintServed(w io.Writer, release string, ended []report.Stop) {
	if len(ended) == 0 {
		fmt.Fprintf(w, "%s was not stopped; no refusal will stop it, and no ring waits for a proof of it any more\n", release)
	}
	for _, s := range ended {
		fmt.Fprintf(w, "%s of %s goes on to ring %s and later ones\n", s.Release, s.Manifest, s.From)
	}
}
