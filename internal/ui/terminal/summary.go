package terminal

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"syncd/internal/report"
)

// PrintSync writes a line for each manifest without an error, and one for the
// generation. PrintErrors writes the others.
func PrintSync(w io.Writer, s report.Sync, dryRun bool) {
	for _, m := range s.Manifests {
		if m.Error == "" {
			fmt.Fprintln(w, manifestLine(m, dryRun))
		}
	}
	for _, v := range s.Views {
		if v.Error == "" && v.Fingerprint != "" {
			fmt.Fprintf(w, "%s  view %s (%s)  %s: %s\n", v.Name, v.Fingerprint, v.Layout, v.Result, files(v.Files))
		}
	}
	for _, name := range s.Removed {
		fmt.Fprintf(w, "%s  expired, and is no longer served\n", name)
	}
	printExported(w, s)
	printSpace(w, s.Space)
	fmt.Fprintln(w, generationLine(s, dryRun))
	if s.Upload != nil && s.Upload.Error == "" {
		PrintUpload(w, *s.Upload, dryRun)
	}
}

// printSpace writes what a sync would need of the disk, and what would go.
func printSpace(w io.Writer, s *report.Space) {
	if s == nil {
		return
	}
	fmt.Fprintf(w, "needs %s on the disk, %s are free\n", size(s.BytesNeeded), size(s.BytesFree))
	if len(s.Removed) == 0 {
		return
	}
	var names []string
	for _, r := range s.Removed {
		names = append(names, r.Name+" "+releaseName(r.Release, r.Revision))
	}
	fmt.Fprintf(w, "removes %s when `retain_for` is over, and frees %s then\n", strings.Join(names, ", "), size(s.BytesFreed))
}

func printExported(w io.Writer, s report.Sync) {
	for _, e := range s.Exports {
		if e.Error == "" {
			fmt.Fprintf(w, "%s  export %s  %s: generation %d\n", e.View, e.Path, e.Result, e.Generation)
		}
	}
}

// PrintErrors writes a line for each manifest, view and export that failed or was refused,
// and for an outcome that could not be published.
func PrintErrors(w io.Writer, s report.Sync) {
	for _, m := range s.Manifests {
		if m.Error != "" {
			fmt.Fprintf(w, "syncd: %s: %s%s: %s\n", m.Name, m.Result, inBrackets(m.Reason), m.Error)
		}
	}
	for _, v := range s.Views {
		if v.Error != "" {
			fmt.Fprintf(w, "syncd: %s: %s%s: %s\n", v.Name, v.Result, inBrackets(v.Reason), v.Error)
		}
	}
	for _, e := range s.Exports {
		if e.Error != "" {
			fmt.Fprintf(w, "syncd: %s: %s%s: %s\n", e.View, e.Result, inBrackets(e.Reason), e.Error)
		}
	}
	if s.Upload != nil && s.Upload.Error != "" {
		fmt.Fprintf(w, "syncd: publish: %s\n", s.Upload.Error)
	}
}

// PrintRollback writes a line for each manifest that went back and each exported folder,
// and one for the generation. PrintErrors writes the folders that do not follow.
func PrintRollback(w io.Writer, s report.Sync) {
	for _, m := range s.Manifests {
		fmt.Fprintf(w, "%s  back at %s\n", m.Name, releaseName(m.Release, m.Revision))
		printMovedPin(w, m)
	}
	printExported(w, s)
	fmt.Fprintf(w, "generation %d is served\n", s.Generation)
}

// printMovedPin says that a pin went along with its manifest.
func printMovedPin(w io.Writer, m report.ManifestResult) {
	if m.PinnedBefore != "" {
		fmt.Fprintf(w, "%s  is pinned to %s now, and was to %s: `syncd unpin %s` ends that\n", m.Name, m.Release, m.PinnedBefore, m.Name)
	}
}

// PrintActivation writes a line for each manifest that went live, or whose staged revision
// was dropped.
func PrintActivation(w io.Writer, s report.Sync, discarded bool) {
	for _, m := range s.Manifests {
		if m.Error != "" { // it stays
			continue
		}
		if discarded {
			fmt.Fprintf(w, "%s  dropped what was staged; %s\n", m.Name, stays(m))
		} else {
			fmt.Fprintf(w, "%s  %s is live\n", m.Name, releaseName(m.Release, m.Revision))
			printMovedPin(w, m)
		}
	}
	if len(s.Manifests) == 0 {
		fmt.Fprintln(w, "nothing is staged")
	}
	fmt.Fprintln(w, generationLine(s, false))
}

// PrintForget writes a line for each manifest that is served no more.
func PrintForget(w io.Writer, s report.Sync) {
	for _, name := range s.Removed {
		fmt.Fprintf(w, "%s  no longer served\n", name)
	}
	fmt.Fprintf(w, "generation %d is served\n", s.Generation)
}

// PrintVerification writes a line for each damaged file, and a summary.
func PrintVerification(w io.Writer, v report.Verification) {
	for _, d := range v.Damage {
		outcome := "DAMAGED"
		if d.Repaired {
			outcome = "repaired"
		}
		PrintMarked(w, outcome, fmt.Sprintf(" %s/%s: %s", cmp.Or(d.Export, d.View, d.Manifest), d.Path, d.Error))
	}
	fmt.Fprintf(w, "%s (%s) read, %d damaged\n", files(v.Files), size(v.Bytes), len(v.Damage))
}

// stays says what is served as before.
func stays(m report.ManifestResult) string {
	if m.Release == "" {
		return "nothing is served yet"
	}
	return releaseName(m.Release, m.Revision) + " stays"
}

func manifestLine(m report.ManifestResult, dryRun bool) string {
	if m.Staged != nil && m.NewlyStaged {
		return fmt.Sprintf("%s  %s  staged: %d of %d files downloaded (%s); %s", m.Name, releaseName(m.Staged.Release, m.Staged.Revision),
			m.FilesDownloaded, m.FilesTotal, size(m.BytesDownloaded), stays(m))
	}
	if m.Result == report.Unchanged && m.Release == "" && m.Staged == nil {
		return fmt.Sprintf("%s  nothing is served: `syncd explain %s` says why", m.Name, m.Name)
	}
	if m.Result == report.Unchanged {
		return fmt.Sprintf("%s  %s  unchanged: %s", m.Name, releaseName(m.Release, m.Revision), files(m.FilesTotal))
	}
	result, verb := string(m.Result), "downloaded"
	if dryRun {
		result, verb = "would be updated", "to download"
	}
	return fmt.Sprintf("%s  %s  %s: %d of %d files %s (%s), %d reused (%s)", m.Name, releaseName(m.Release, m.Revision), result,
		m.FilesDownloaded, m.FilesTotal, verb, size(m.BytesDownloaded), m.FilesReused, size(m.BytesReused))
}

func generationLine(s report.Sync, dryRun bool) string {
	switch {
	case dryRun && s.Generation == 0:
		return "dry run: nothing was changed, and nothing is served yet"
	case dryRun:
		return fmt.Sprintf("dry run: nothing was changed, generation %d stays", s.Generation)
	case s.Changed:
		return fmt.Sprintf("generation %d is served", s.Generation)
	case s.Generation == 0 && slices.ContainsFunc(s.Manifests, func(m report.ManifestResult) bool { return m.Result == report.Failed }):
		return "nothing is served yet: `syncd doctor` looks for the cause"
	case s.Generation == 0:
		return "nothing is served yet"
	}
	return fmt.Sprintf("generation %d stays", s.Generation)
}
