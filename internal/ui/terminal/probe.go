package terminal

import (
	"fmt"
	"io"
	"time"

	"syncd/internal/report"
)

// PrintProbes writes a line for each consumer that was asked.
func PrintProbes(w io.Writer, probes report.Probes) {
	for _, p := range probes.Probes {
		took := time.Duration(p.DurationSeconds * float64(time.Second)).Round(time.Millisecond)
		if p.Passed {
			fmt.Fprintf(w, "%s  the consumer works with %s (%s)\n", p.Manifest, releaseName(p.Release, p.Revision), took)
		} else {
			fmt.Fprintf(w, "%s  the consumer does not work with %s (%s): %s\n", p.Manifest, releaseName(p.Release, p.Revision), took, p.Error)
		}
	}
}
