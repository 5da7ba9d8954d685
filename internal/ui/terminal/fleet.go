package terminal

import (
	"fmt"
	"io"
	"strings"

	"syncd/internal/report"
)

// PrintFleet writes a table of the followers, and what was stopped.
func PrintFleet(w io.Writer, view report.FleetStatus) error {
	if len(view.Followers) == 0 {
		fmt.Fprintln(w, "no follower has polled yet")
	} else {
		table := newTable(w)
		fmt.Fprintln(table, "NAME\tHOST\tRING\tRELEASE\tSTATE\tLAST SEEN")
		for _, f := range view.Followers {
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", orDash(f.Name), orDash(f.Host), orDash(f.Ring), orDash(string(f.Release)), fleetState(f.Following), timeOrDash(&f.LastSeen))
		}
		if err := table.Flush(); err != nil {
			return err
		}
	}
	for _, s := range view.Stopped {
		fmt.Fprintf(w, "\n%s\n", stopText(s))
	}
	return nil
}

// fleetState is the state of a follower, with the release that it refused.
func fleetState(t report.Following) string {
	if t.Refused == "" {
		return string(t.State)
	}
	return fmt.Sprintf("%s %s (%s)", t.State, t.Refused, t.Reason)
}

func stopText(s report.Stop) string {
	return fmt.Sprintf("%s of %s is stopped from ring %s on: %d of %d hosts of ring %s refused it (%s). `syncd fleet release %s` lets it go on.",
		s.Release, s.Manifest, s.From, s.Refused, s.Of, s.By, strings.Join(s.Hosts, ", "), s.Release)
}

// PrintServed writes what a release that may go on had been kept from.
func PrintServed(w io.Writer, release string, ended []report.Stop) {
	if len(ended) == 0 {
		fmt.Fprintf(w, "%s was not stopped; hosts that refuse it will not stop it either\n", release)
	}
	for _, s := range ended {
		fmt.Fprintf(w, "%s of %s goes on to ring %s and later ones\n", s.Release, s.Manifest, s.From)
	}
}
