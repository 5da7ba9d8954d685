package terminal

import (
	"fmt"
	"io"
	"strings"

	"github.com/dustin/go-humanize"

	"syncd/internal/report"
)

// PrintUpload writes the outcome of publishing to object storage.
func PrintUpload(w io.Writer, p report.Upload, dryRun bool) {
	for _, t := range p.Targets {
		if t.Error != "" {
			fmt.Fprintf(w, "%s: failed: %s\n", t.Target, t.Error)
			continue
		}
		fmt.Fprintf(w, "%s: ", t.Target)
		PrintUpload(w, t, dryRun)
	}
	if len(p.Targets) > 0 {
		return
	}
	if p.Verification != nil {
		printUploadCheck(w, *p.Verification)
	}
	switch p.Result {
	case report.Uploaded:
		fmt.Fprintln(w, uploadLine(p, dryRun))
		if p.Replaced != "" {
			fmt.Fprintf(w, "it replaced a generation of another publisher, %s\n", p.Replaced)
		}
	case report.UploadUnchanged:
		if p.Superseded {
			fmt.Fprintf(w, "nothing was published: generation %d in the bucket is %s's since %s, and not what is served here\n", p.Generation, p.Publisher, report.Moment(p.PublishedAt.Local()))
			break
		}
		fmt.Fprintf(w, "the bucket shows what is served: generation %d\n", p.Generation)
	case report.Standby:
		fmt.Fprintln(w, "another publisher holds the lease: nothing was published")
	case report.UploadPending:
		fmt.Fprintln(w, "the bucket is slow: this is published together with what went live later")
	}
	if len(p.Kept) > 0 {
		fmt.Fprintf(w, "kept what another publisher has newer: %s\n", strings.Join(p.Kept, ", "))
	}
	if p.Superseded {
		fmt.Fprintln(w, "`syncd publish --force` replaces it with what is served here; followers then go back, too")
	}
	if p.Signed != nil {
		fmt.Fprintln(w, p.Signed.Text())
	}
	if c := p.Collected; c != nil {
		verb := "deleted"
		if dryRun {
			verb = "would delete"
		}
		fmt.Fprintf(w, "%s %d objects (%s), %d records and generations, %d unfinished uploads\n", verb, c.Objects, humanize.IBytes(uint64(max(c.Bytes, 0))), c.Texts, c.Uploads)
	}
}

func uploadLine(p report.Upload, dryRun bool) string {
	amount := fmt.Sprintf("%d objects (%s)", p.Objects, humanize.IBytes(uint64(max(p.Bytes, 0))))
	if dryRun {
		return "would upload " + amount
	}
	return fmt.Sprintf("published generation %d to the bucket: %s uploaded", p.Generation, amount)
}

// printUploadCheck writes what a verification of the bucket found.
func printUploadCheck(w io.Writer, c report.UploadCheck) {
	fmt.Fprintf(w, "%d generations, %d records and %d objects (%s) looked for, %s of objects read\n",
		c.Generations, c.Records, c.Objects, humanize.IBytes(uint64(max(c.Bytes, 0))), humanize.IBytes(uint64(max(c.BytesRead, 0))))
	if c.Unread > 0 {
		fmt.Fprintf(w, "of %d objects only the size was compared: the server keeps no SHA-256 of them, and --read reads them all\n", c.Unread)
	}
	for _, d := range c.Damage {
		verb := "DAMAGED"
		if d.Repaired {
			verb = "repaired"
		}
		fmt.Fprintf(w, "%s %s\n", verb, d)
	}
	if more := c.Missing + c.Damaged - len(c.Damage); more > 0 {
		fmt.Fprintf(w, "and %d more\n", more)
	}
	switch found := c.Missing + c.Damaged; {
	case found == 0:
		fmt.Fprintln(w, "nothing is missing or damaged")
	default:
		fmt.Fprintf(w, "%d missing, %d damaged, %d repaired\n", c.Missing, c.Damaged, c.Repaired)
	}
}
