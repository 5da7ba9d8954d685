package terminal

import (
	"fmt"
	"io"
	"strings"

	"syncd/internal/report"
)

// PrintAdoption writes a line for each manifest, and what the next sync will download.
func PrintAdoption(w io.Writer, a report.Adoption) {
	for _, m := range a.Manifests {
		if m.Error != "" {
			continue
		}
		fmt.Fprintf(w, "%s  %s  %s: %d adopted (%s), %d to download (%s)%s\n", m.Name, m.Release, files(m.FilesTotal),
			m.FilesAdopted, size(m.BytesAdopted), m.FilesToDownload, size(m.BytesToDownload), named(m))
	}
	fmt.Fprintf(w, "%s read (%s), %d adopted (%s)\n", files(a.FilesRead), size(a.BytesRead), a.FilesAdopted, size(a.BytesAdopted))
	if a.FilesToDownload == 0 {
		fmt.Fprintln(w, "the next sync downloads nothing")
		return
	}
	fmt.Fprintf(w, "the next sync downloads %s (%s)\n", files(a.FilesToDownload), size(a.BytesToDownload))
}

// named lists the missing files of a manifest where they are few.
func named(m report.AdoptedManifest) string {
	if m.FilesToDownload == 0 || m.FilesToDownload > len(m.Missing) {
		return ""
	}
	return ": " + strings.Join(m.Missing, ", ")
}

// PrintAdoptionErrors writes a line for each manifest that could not be planned, and for
// what was passed over in the folder.
func PrintAdoptionErrors(w io.Writer, a report.Adoption) {
	for _, m := range a.Manifests {
		if m.Error != "" {
			fmt.Fprintf(w, "syncd: %s: nothing was adopted: %s\n", m.Name, m.Error)
		}
	}
	named := a.Skipped[:min(len(a.Skipped), report.MaxNamed)]
	for _, s := range named {
		fmt.Fprintf(w, "syncd: warning: %s: %s\n", s.Path, s.Error)
	}
	if more := a.SkippedCount - len(named); more > 0 {
		fmt.Fprintf(w, "syncd: warning: %d more were passed over\n", more)
	}
}
