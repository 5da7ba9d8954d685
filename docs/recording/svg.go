//go:build linux

package main

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

const letterWidth, rowHeight, margin = 8.4, 20, 16

// style hides a line until it appears. A line that is replaced stays hidden after that.
// Where nothing is animated, the last screen is shown.
const style = `
svg { background: #f6f8fa; border-radius: 6px }
text { font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace; fill: #1f2328; white-space: pre }
.c { font-weight: 600 }
.d { fill: #59636e; font-weight: 400 }
.l { animation: appear 1ms backwards }
.g { opacity: 0; animation: stay 1s }
.t { animation: type 1s backwards }
@keyframes appear { from { opacity: 0 } }
@keyframes stay { from, to { opacity: 1 } }
@keyframes type { from { clip-path: inset(0 100% 0 0) } to { clip-path: inset(0 0 0 0) } }
@media (prefers-color-scheme: dark) { svg { background: #0d1117 } text { fill: #e6edf3 } .d { fill: #9198a1 } }
@media (prefers-reduced-motion: reduce) { .l, .t, .g { animation: none } }
`

// svg draws the recording.
func (r *recording) svg() []byte {
	lines := slices.Clone(r.lines)
	slices.SortStableFunc(lines, func(a, b line) int { return cmp.Or(cmp.Compare(a.row, b.row), cmp.Compare(a.from, b.from)) })
	height := 2*margin + rowHeight*(len(r.screen.rows))
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %d" xml:space="preserve" role="img" aria-label="A session of syncd in a terminal">`+"\n<style>%s</style>\n",
		2*margin+letterWidth*columns, height, style)
	for _, l := range lines {
		l.draw(&b)
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

func (l line) draw(b *bytes.Buffer) {
	y := margin + rowHeight*l.row + 15
	letters := utf8.RuneCountInString(l.text)
	switch {
	case l.command:
		l.drawCommand(b, y, letters)
	case l.replaced:
		fmt.Fprintf(b, `<text class="g" x="%d" y="%d" style="animation-delay:%s;animation-duration:%s"%s>%s</text>`+"\n",
			margin, y, seconds(l.from), seconds(l.to-l.from), length(letters), escape(l.text))
	default:
		fmt.Fprintf(b, `<text class="l" x="%d" y="%d" style="animation-delay:%s"%s>%s</text>`+"\n",
			margin, y, seconds(l.from), length(letters), escape(l.text))
	}
}

// drawCommand draws the prompt, and the command that is typed. A comment is dim.
func (l line) drawCommand(b *bytes.Buffer, y, letters int) {
	text := escape(l.text)
	if code, comment, found := strings.Cut(text, "#"); found {
		text = code + `<tspan class="d">#` + comment + `</tspan>`
	}
	fmt.Fprintf(b, `<text class="l d" x="%d" y="%d" style="animation-delay:%s"%s>$ </text>`+"\n", margin, y, seconds(l.from), length(2))
	fmt.Fprintf(b, `<text class="c t" x="%.1f" y="%d" style="animation-delay:%s;animation-duration:%s;animation-timing-function:steps(%d)"%s>%s</text>`+"\n",
		margin+2*letterWidth, y, seconds(l.from), seconds(perLetter*time.Duration(letters)), letters, length(letters), text)
}

// length keeps columns aligned in every font.
func length(letters int) string {
	return fmt.Sprintf(` textLength="%.1f"`, letterWidth*float64(letters))
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.2fs", d.Seconds()) }

func escape(text string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(text)) // a bytes.Buffer takes everything
	return strings.ReplaceAll(b.String(), "&#34;", `"`)
}
