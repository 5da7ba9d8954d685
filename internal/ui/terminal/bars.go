package terminal

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"sync/atomic"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"syncd/internal/report"
)

// The widths fit, together with the numbers, into a terminal of 120 columns. A narrower one
// gets shorter names and bars, and then no speed.
const (
	nameWidth    = 32
	leastName    = 12
	barWidth     = 30
	leastBar     = 14
	counterWidth = 22
	speedWidth   = 13
	leftWidth    = 8
)

// bars draws one bar for each running download, and one for all together.
type bars struct {
	container *mpb.Progress
	redact    func([]byte) []byte
	all       *bar
	files     map[string]*bar
	retries   Retries // above the bars
	width     int     // of the terminal
}

// bar is a bar of the library. It shows the engine's figures: the library would
// count the bytes of a resumed file as received now.
type bar struct {
	*mpb.Bar
	figures *figures
}

// figures are the speed and the time left beside a bar. The library reads them in
// another goroutine.
type figures struct {
	current atomic.Pointer[rate]
}

type rate struct{ bytesPerSecond, secondsLeft float64 }

// newBars draws on the terminal itself, whose width the library asks for.
func newBars(terminal *os.File, redact func([]byte) []byte) *bars {
	b := &bars{container: mpb.New(mpb.WithOutput(terminal), mpb.WithAutoRefresh()), redact: redact, files: map[string]*bar{}, width: WidthOf(terminal)}
	if b.width == 0 {
		b.width = 120
	}
	b.retries.W = redacted{b.container, redact}
	b.all = b.add("total", 0, mpb.BarPriority(1<<30))
	return b
}

// redacted removes secrets from what is written.
type redacted struct {
	to     io.Writer
	redact func([]byte) []byte
}

func (r redacted) Write(line []byte) (int, error) {
	text := bytes.TrimSuffix(line, []byte("\n")) // redact makes a line break visible
	if _, err := r.to.Write(append(r.redact(text), '\n')); err != nil {
		return 0, err
	}
	return len(line), nil
}

func (b *bars) add(name string, size int64, options ...mpb.BarOption) *bar {
	name = string(b.redact([]byte(name)))
	f := &figures{}
	f.current.Store(&rate{})
	options = append(options, mpb.BarWidth(barWidth),
		mpb.PrependDecorators(decor.Name(shorten(name, b.nameWidth()), decor.WC{W: b.nameWidth(), C: decor.DindentRight})),
		mpb.AppendDecorators(f.decorators()[:b.numbers()]...))
	return &bar{Bar: b.container.AddBar(size, options...), figures: f}
}

// nameWidth is how many characters names have.
func (b *bars) nameWidth() int {
	return min(max(b.width-leastBar-counterWidth-speedWidth-leftWidth, leastName), nameWidth)
}

// numbers is how many of the decorators fit.
func (b *bars) numbers() int {
	if b.width < leastName+counterWidth+speedWidth+leftWidth {
		return 1
	}
	return 3
}

func (f *figures) decorators() []decor.Decorator {
	return []decor.Decorator{
		decor.CountersKibiByte("% .1f / % .1f", decor.WC{W: counterWidth}),
		decor.Any(func(decor.Statistics) string { return f.current.Load().speed() }, decor.WC{W: speedWidth}),
		decor.Any(func(decor.Statistics) string { return f.current.Load().left() }, decor.WC{W: leftWidth}),
	}
}

func (r *rate) speed() string {
	return fmt.Sprintf("% .1f/s", decor.SizeB1024(int64(r.bytesPerSecond)))
}

// left is empty while the time left is unknown.
func (r *rate) left() string {
	if r.secondsLeft <= 0 {
		return ""
	}
	return seconds(r.secondsLeft).String()
}

func (b *bar) set(total, done int64, now rate) {
	b.figures.current.Store(&now)
	b.SetTotal(max(total, done, 1), false)
	b.SetCurrent(done)
}

func (b *bars) Show(s report.Progress) {
	b.retries.Show(s.Retry)
	total := s.Total()
	b.all.set(total.BytesTotal, total.BytesDone, rate{total.BytesPerSecond, total.SecondsLeft})
	running := map[string]bool{}
	for _, f := range s.Files {
		key := f.Manifest + "/" + f.Path
		running[key] = true
		if b.files[key] == nil {
			b.files[key] = b.add(key, max(f.Size, 0), mpb.BarRemoveOnComplete())
		}
		b.files[key].set(f.Size, f.Done, rate{f.BytesPerSecond, f.SecondsLeft})
	}
	for key, bar := range b.files {
		if !running[key] {
			bar.Abort(true)
			delete(b.files, key)
		}
	}
}

// Close removes the bars: a summary follows them.
func (b *bars) Close() {
	for _, bar := range b.files {
		bar.Abort(true)
	}
	b.all.Abort(true)
	b.container.Wait()
}

// shorten keeps the end of a path, which tells files apart.
func shorten(name string, width int) string {
	runes := []rune(name)
	if len(runes) <= width {
		return name
	}
	return "…" + string(runes[len(runes)-width+1:])
}
