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
	switch p.Result {
	case report.Uploaded:
		fmt.Fprintln(w, uploadLine(p, dryRun))
	case report.UploadUnchanged:
		fmt.Fprintf(w, "the bucket shows what is served: generation %d\n", p.Generation)
	case report.Standby:
		fmt.Fprintln(w, "another publisher holds the lease: nothing was published")
	case report.UploadPending:
		fmt.Fprintln(w, "the bucket is slow: this is published together with what went live later")
	}
	if len(p.Kept) > 0 {
		fmt.Fprintf(w, "kept what another publisher has newer: %s\n", strings.Join(p.Kept, ", "))
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
