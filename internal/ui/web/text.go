package web

import (
	"fmt"
	"html/template"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize/english"
)

// command is a command line without characters that mean something to a shell. Texts may
// quote names that others chose, and a person pastes a command as it is.
var command = regexp.MustCompile(`^syncd( [A-Za-z0-9._=:/@-]+)+$`)

// mentions are commands that texts name without their arguments.
var mentions = []string{"syncd hold", "syncd pin", "syncd activate --discard"}

// rich is a text of syncd as HTML: what stands in backquotes becomes code, and a command
// that can be copied has a class for it. Each part is escaped.
func rich(text string) template.HTML {
	var b strings.Builder
	for i, part := range strings.Split(text, "`") {
		escaped := template.HTMLEscapeString(part)
		switch {
		case i%2 == 0:
			b.WriteString(escaped)
		case command.MatchString(part) && !slices.Contains(mentions, part):
			b.WriteString(`<code class="command">` + escaped + `</code>`)
		default:
			b.WriteString("<code>" + escaped + "</code>")
		}
	}
	return template.HTML(b.String())
}

// words shows a state to people.
func words[S ~string](state S) string { return strings.ReplaceAll(string(state), "_", " ") }

// moment is a time.Time or the time that a *time.Time points to; nil is the zero time.
func moment(t any) time.Time {
	if at, pointer := t.(*time.Time); pointer {
		if at == nil {
			return time.Time{}
		}
		return *at
	}
	return t.(time.Time)
}

// relative is the distance of a time from now, in a fitting unit.
func relative(t, now time.Time) string {
	away := now.Sub(t)
	form := "%s ago"
	if away < 0 {
		away, form = -away, "in %s"
	}
	const day = 24 * time.Hour
	switch {
	case away < time.Minute && form == "in %s":
		return fmt.Sprintf(form, fmt.Sprintf("%d s", int(away.Seconds())))
	case away < time.Minute:
		return fmt.Sprintf(form, "less than a minute")
	case away < 2*time.Hour:
		return fmt.Sprintf(form, english.Plural(int(away/time.Minute), "minute", ""))
	case away < 2*day:
		return fmt.Sprintf(form, english.Plural(int(away/time.Hour), "hour", ""))
	}
	return fmt.Sprintf(form, english.Plural(int(away/day), "day", ""))
}

// took rounds a duration by its size.
func took(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}
