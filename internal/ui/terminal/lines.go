package terminal

import (
	"fmt"
	"io"
	"time"

	"syncd/internal/report"
)

// lineInterval is how often a line is written where there is no terminal.
const lineInterval = 5 * time.Second

// lines writes the progress of all manifests together as lines of text.
type lines struct {
	w       io.Writer
	next    time.Time
	retries Retries
}

func (l *lines) Show(s report.Progress) {
	isRetrying, total := l.retries.Show(s.Retry), s.Total()
	now := time.Now()
	if !s.Syncing || now.Before(l.next) || isRetrying && total.FilesTotal == 0 {
		return
	}
	l.next = now.Add(lineInterval)
	rate := ""
	if total.SecondsLeft > 0 {
		rate = fmt.Sprintf(", %s/s, %s left", size(int64(total.BytesPerSecond)), seconds(total.SecondsLeft))
	}
	fmt.Fprintf(l.w, "syncd: %d of %d files, %s of %s%s\n", total.FilesDone, total.FilesTotal, size(total.BytesDone), size(total.BytesTotal), rate)
}

func (l *lines) Close() {}
