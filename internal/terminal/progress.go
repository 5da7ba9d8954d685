package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"syncd/internal/report"
)

// lineInterval is how often progress is told where there is no terminal.
const lineInterval = 5 * time.Second

// display shows the progress of a sync: bars on a terminal, a line every few
// seconds elsewhere, nothing when quiet.
type display interface {
	show(report.Snapshot)
	close()
}

func (a *app) display(quiet bool) display {
	if quiet {
		return silent{}
	}
	if terminal, ok := a.stderr.w.(*os.File); ok && a.stderr.isTerminal() {
		return newBars(terminal, a.stderr.secrets)
	}
	return &lines{w: a.stderr, next: time.Now().Add(lineInterval)}
}

type silent struct{}

func (silent) show(report.Snapshot) {}
func (silent) close()               {}

// lines tells the progress in words.
type lines struct {
	w     io.Writer
	next  time.Time
	last  int64
	since time.Time
}

func (l *lines) show(s report.Snapshot) {
	now := time.Now()
	if !s.Syncing || now.Before(l.next) {
		return
	}
	done, total, files, ofFiles := sum(s)
	rate := ""
	if seconds := now.Sub(l.since).Seconds(); !l.since.IsZero() && seconds > 0 && done > l.last {
		perSecond := float64(done-l.last) / seconds
		left := time.Duration(float64(total-done) / perSecond * float64(time.Second)).Round(time.Second)
		rate = fmt.Sprintf(", %s/s, %s left", humanize.IBytes(uint64(perSecond)), left)
	}
	fmt.Fprintf(l.w, "syncd: %d of %d files, %s of %s%s\n", files, ofFiles, humanize.IBytes(uint64(done)), humanize.IBytes(uint64(total)), rate)
	l.last, l.since, l.next = done, now, now.Add(lineInterval)
}

func (l *lines) close() {}

func sum(s report.Snapshot) (done, total int64, files, ofFiles int) {
	for _, m := range s.Manifests {
		done, total = done+m.BytesDone, total+m.BytesTotal
		files, ofFiles = files+m.FilesDone, ofFiles+m.FilesTotal
	}
	return done, max(total, done), files, ofFiles
}

// bars draws one bar for each download under way and one for all together.
type bars struct {
	container *mpb.Progress
	secrets   *secrets
	all       *mpb.Bar
	files     map[string]*mpb.Bar
}

// newBars draws on the terminal itself, whose width the library asks for.
func newBars(terminal *os.File, secrets *secrets) *bars {
	container := mpb.New(mpb.WithOutput(terminal), mpb.WithAutoRefresh())
	b := &bars{container: container, secrets: secrets, files: map[string]*mpb.Bar{}}
	b.all = b.add("total", 0, mpb.BarPriority(1<<30))
	return b
}

func (b *bars) add(name string, size int64, options ...mpb.BarOption) *mpb.Bar {
	name = string(b.secrets.redact([]byte(name)))
	options = append(options, mpb.BarWidth(barWidth),
		mpb.PrependDecorators(decor.Name(shorten(name), decor.WC{W: nameWidth, C: decor.DindentRight})),
		mpb.AppendDecorators(
			decor.CountersKibiByte("% .1f / % .1f", decor.WC{W: 22}),
			decor.AverageSpeed(decor.SizeB1024(0), "% .1f", decor.WC{W: 13}),
			decor.AverageETA(decor.ET_STYLE_GO, decor.WC{W: 8}),
		))
	return b.container.AddBar(size, options...)
}

// The widths fit, with the numbers, into a terminal of 120 columns.
const (
	nameWidth = 32
	barWidth  = 30
)

// shorten keeps the end of a path, which tells files apart.
func shorten(name string) string {
	runes := []rune(name)
	if len(runes) <= nameWidth {
		return name
	}
	return "…" + string(runes[len(runes)-nameWidth+1:])
}

func (b *bars) show(s report.Snapshot) {
	done, total, _, _ := sum(s)
	b.all.SetTotal(max(total, 1), false)
	b.all.SetCurrent(done)
	running := map[string]bool{}
	for _, f := range s.Files {
		key := f.Manifest + "/" + f.Path
		running[key] = true
		if b.files[key] == nil {
			b.files[key] = b.add(key, max(f.Size, 0), mpb.BarRemoveOnComplete())
		}
		b.files[key].SetTotal(max(f.Size, f.Done), false)
		b.files[key].SetCurrent(f.Done)
	}
	for key, bar := range b.files {
		if !running[key] {
			bar.Abort(true)
			delete(b.files, key)
		}
	}
}

func (b *bars) close() {
	for _, bar := range b.files {
		bar.Abort(true)
	}
	b.all.Abort(true) // the summary that follows says it all
	b.container.Wait()
}
