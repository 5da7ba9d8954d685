package terminal

import (
	"fmt"
	"io"
	"strings"

	"github.com/dustin/go-humanize"

	"syncd/internal/mirror/destroy"
	"syncd/internal/report"
)

// PrintDestroyed writes what `syncd destroy` did or would do.
func PrintDestroyed(w io.Writer, d report.DestroyResult) error {
	verb := "destroyed"
	if d.DryRun {
		verb = "would destroy"
	}
	for _, one := range d.Destroyed {
		fmt.Fprintf(w, "%s %s %s: %s\n", verb, one.Manifest, nameOf(one), goneOf(one))
		if linked := one.Linked(); linked > 0 {
			fmt.Fprintf(w, "  another program has made hard links of %d contents: `syncd destroyed --json` has their inodes, `find DIR -xdev -inum N` finds them\n", linked)
		}
		for _, r := range one.Readers {
			fmt.Fprintf(w, "  %s (%d) has files of it open and can read them until it closes them: %s\n", r.Command, r.PID, strings.Join(r.Files[:min(len(r.Files), 3)], " "))
		}
	}
	for _, text := range d.Notes {
		fmt.Fprintln(w, text)
	}
	if d.Upload != nil && d.Upload.Error == "" {
		PrintUpload(w, *d.Upload, false)
	}
	return nil
}

// nameOf names a destroyed revision, or the release of which only parts were there.
func nameOf(d destroy.Destruction) string {
	if d.Revision == "" {
		return string(d.Release) + ", which was not complete"
	}
	return string(d.Release) + "-" + d.Revision
}

func goneOf(d destroy.Destruction) string {
	text := fmt.Sprintf("%d contents, %s", d.Gone(), humanize.IBytes(uint64(d.GoneBytes())))
	if shared := len(d.Contents) - d.Gone(); shared > 0 {
		text += fmt.Sprintf("; %d stay, because another revision shares them", shared)
	}
	return text
}

// PrintDestructions writes a table of the records of destructions.
func PrintDestructions(w io.Writer, list []destroy.Destruction) error {
	if len(list) == 0 {
		fmt.Fprintln(w, "nothing was destroyed here")
		return nil
	}
	table := NewTable(w, "AT", "MANIFEST", "RELEASE", "CAUSE", "GONE", "SHARED", "READERS")
	for _, d := range list {
		var readers []string
		for _, r := range d.Readers {
			readers = append(readers, fmt.Sprintf("%s (%d)", r.Command, r.PID))
		}
		table.Row(report.Moment(d.At.Local()), d.Manifest, strings.TrimSuffix(string(d.Release)+"-"+d.Revision, "-"), d.Cause,
			fmt.Sprintf("%d, %s", d.Gone(), humanize.IBytes(uint64(d.GoneBytes()))), len(d.Contents)-d.Gone(), strings.Join(readers, " "))
	}
	return table.Flush()
}
