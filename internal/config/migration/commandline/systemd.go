package commandline

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"time"

	"syncd/internal/host/unitfile"
)

// unitHead is the line above each file that `systemctl cat` prints.
var unitHead = regexp.MustCompile(`(?m)^# (/\S+\.(?:service|timer|conf))[ \t]*$`)

// unitPart is one unit with its place in a text.
type unitPart struct {
	path    string
	content string
	line    int
}

// unitParts splits what `systemctl cat` prints. Drop-ins belong to the file before them.
func unitParts(t *source) []unitPart {
	heads := unitHead.FindAllStringSubmatchIndex(t.content, -1)
	if len(heads) == 0 {
		return []unitPart{{t.path, t.content, 1}}
	}
	var parts []unitPart
	for i, head := range heads {
		end := len(t.content)
		if i+1 < len(heads) {
			end = heads[i+1][0]
		}
		file, content := t.content[head[2]:head[3]], t.content[head[0]:end]
		if strings.HasSuffix(file, ".conf") && len(parts) > 0 {
			parts[len(parts)-1].content += content
			continue
		}
		parts = append(parts, unitPart{file, content, 1 + strings.Count(t.content[:head[0]], "\n")})
	}
	return parts
}

// units reads services, with the timers that start them: of the same text, of another one,
// or beside the service's file.
func (r *reader) units(t *source, s *scope) {
	parts := unitParts(t)
	for _, other := range r.texts {
		if other != t && !other.isRead && other.kind() == unitKind {
			other.isRead = true
			for _, part := range unitParts(other) {
				part.line = -part.line // of another text
				part.path = cmp.Or(part.path, other.path)
				parts = append(parts, part)
			}
		}
	}
	parts = r.withPartners(parts)
	for _, part := range parts {
		u, err := unitfile.Parse([]byte(part.content))
		at := s.at(part.line)
		if part.line <= 0 {
			at = Place{baseOf(part.path), max(1, -part.line)}
		}
		if err != nil {
			r.skip(at, part.content)
			r.note(at, "and what follows cannot be read as a unit: print it with `systemctl cat NAME`")
			continue
		}
		if len(u.Commands("ExecStart")) > 0 {
			r.group(func() { r.service(part, u, timerOf(part, parts), at, s) })
		}
	}
}

// last is the last value of a key in [Timer], "" for none.
func last(timer *unitfile.Unit, key string) string {
	values := timer.Timers(key)
	if len(values) == 0 {
		return ""
	}
	return values[len(values)-1]
}

// withPartners adds the timer beside a service, and the service beside a timer.
func (r *reader) withPartners(parts []unitPart) []unitPart {
	if len(parts) != 1 {
		return parts
	}
	file := parts[0].path
	stem := strings.TrimSuffix(strings.TrimSuffix(file, ".timer"), ".service")
	other := stem + ".timer"
	if strings.HasSuffix(file, ".timer") {
		other = stem + ".service"
	}
	if data, err := r.readFile(other); err == nil && stem != file && unitText.MatchString(data) {
		return append(parts, unitPart{other, data, 0})
	}
	return parts
}

// timerOf returns the timer of a service, nil for none. A service without a name belongs to
// the only timer.
func timerOf(service unitPart, parts []unitPart) *unitfile.Unit {
	var timers []*unitfile.Unit
	stem := strings.TrimSuffix(baseOf(service.path), ".service")
	for _, part := range parts {
		u, err := unitfile.Parse([]byte(part.content))
		if err != nil || !u.IsTimer() {
			continue
		}
		if part.path != "" && (strings.TrimSuffix(baseOf(part.path), ".timer") == stem || last(u, "Unit") == stem+".service") {
			return u
		}
		timers = append(timers, u)
	}
	if len(timers) == 1 && len(parts) <= 2 {
		return timers[0]
	}
	return nil
}

// service reads the commands of a service.
func (r *reader) service(part unitPart, u, timer *unitfile.Unit, at Place, s *scope) {
	in := s.inner()
	in.file, in.line = at.file, at.line+lineOf(part.content, "ExecStart")
	if part.line == 0 {
		in.line++
	}
	in.dir = u.Value("WorkingDirectory")
	if in.dir == "" {
		in.dir = "/"
	}
	for _, file := range u.Values("EnvironmentFile") {
		r.variables(strings.TrimPrefix(file, "-"), in.at(in.line), in)
	}
	for _, pair := range u.Words("Environment") {
		name, value, _ := strings.Cut(pair, "=")
		r.set(in, name, value, !strings.Contains(strings.ReplaceAll(value, "%%", ""), "%"))
	}
	in.setTimer(timer)
	for _, key := range []string{"ExecCondition", "ExecStartPre", "ExecStart", "ExecStartPost", "ExecStopPost"} {
		for _, command := range u.Commands(key) {
			if words := in.unitWords(command); len(words) > 0 {
				shellReader{r}.command(words, in.line, in.inner())
			}
		}
	}
	if strings.Contains(part.content, "\nOnFailure=") {
		r.note(in.at(in.line), "has OnFailure= in its unit: for failures of the updater use %s", failureHook)
	}
}

// lineOf counts the lines before the first one with a key.
func lineOf(text, key string) int {
	before, _, found := strings.Cut("\n"+text, "\n"+key)
	if !found {
		return 0
	}
	return strings.Count(before, "\n")
}

var (
	unitWord     = regexp.MustCompile(`^\$[A-Za-z_][A-Za-z0-9_]*$`)
	unitVariable = regexp.MustCompile(`\$\{[A-Za-z_][A-Za-z0-9_]*\}`)
)

// unitWords replaces variables as systemd does: ${NAME} in a word, and $NAME alone, which
// becomes several words. Specifiers such as %h are not known.
func (s *scope) unitWords(command []string) []Word {
	var words []Word
	for _, text := range command {
		if unitWord.MatchString(text) {
			value, known := s.vars[text[1:]]
			for field := range strings.FieldsSeq(value) {
				words = append(words, Word{field, true})
			}
			if !known {
				words = append(words, Word{})
			}
			continue
		}
		known := true
		text = unitVariable.ReplaceAllStringFunc(text, func(match string) string {
			value, set := s.vars[strings.Trim(match, "${}")]
			known = known && set
			return value
		})
		known = known && !strings.Contains(strings.ReplaceAll(text, "%%", ""), "%")
		words = append(words, Word{strings.NewReplacer("%%", "%", "$$", "$").Replace(text), known})
	}
	return words
}

// setTimer sets the schedule of a timer.
func (s *scope) setTimer(timer *unitfile.Unit) {
	if timer == nil {
		s.remarks = append(s.remarks, "its timer is not among the texts: add schedule, or give the .timer as another file")
		return
	}
	calendars := timer.Timers("OnCalendar")
	if len(calendars) > 1 {
		s.remarks = append(s.remarks, "OnCalendar= stands more than once: the first one is used")
	}
	if last(timer, "RandomizedDelaySec") != "" {
		s.remarks = append(s.remarks, "RandomizedDelaySec=: syncd waits up to `jitter` (5m) before each sync")
	}
	s.startup = last(timer, "OnBootSec") != "" || last(timer, "OnStartupSec") != ""
	switch {
	case len(calendars) > 0:
		s.use(calendar(calendars[0]))
	case last(timer, "OnUnitActiveSec") != "":
		s.use(interval(last(timer, "OnUnitActiveSec")))
	case last(timer, "OnUnitInactiveSec") != "":
		s.use(interval(last(timer, "OnUnitInactiveSec")))
	}
}

var unitSpan = regexp.MustCompile(`^(\d+)\s*(s|sec|m|min|minute|minutes|h|hr|hour|hours|d|day|days|w|week|weeks)?$`)

// interval reads one number with its unit, such as 6h or 1day.
func interval(text string) string {
	parts := unitSpan.FindStringSubmatch(strings.TrimSpace(text))
	if parts == nil || len(parts[1]) > 6 {
		return ""
	}
	unit := map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour, 'w': 7 * 24 * time.Hour}[(parts[2] + "s")[0]]
	var n int
	if _, err := fmt.Sscan(parts[1], &n); err != nil || n == 0 {
		return ""
	}
	return every(time.Duration(n) * unit)
}

// calendarWords are those of systemd.time(7).
var calendarWords = map[string]string{
	"minutely": "* * * * *", "hourly": "@hourly", "daily": "@daily", "weekly": "0 0 * * 1", "monthly": "@monthly", "quarterly": "0 0 1 1,4,7,10 *",
	"semiannually": "0 0 1 1,7 *", "yearly": "@yearly", "annually": "@yearly",
}

var calendarForm = regexp.MustCompile(`^(?:([A-Za-z.,]+)\s+)?(?:\*-([0-9*,./]+)-([0-9*,./]+)(?:\s+|$))?(?:([0-9*,./]+):([0-9*,./]+)(?::0?0)?)?(?:\s+([A-Za-z]+(?:/[A-Za-z_]+)*))?$`)

// calendar turns OnCalendar= into a schedule, "" without an equal.
func calendar(text string) string {
	text = strings.TrimSpace(text)
	if schedule := calendarWords[strings.ToLower(text)]; schedule != "" {
		return schedule
	}
	parts := calendarForm.FindStringSubmatch(text)
	if parts == nil || text == "" {
		return ""
	}
	fields := []string{calendarField(parts[5], "59"), calendarField(parts[4], "23"), calendarField(parts[3], "31"), calendarField(parts[2], "12"), calendarDays(parts[1])}
	if parts[4] == "" { // a date alone is midnight
		fields[0], fields[1] = "0", "0"
	}
	for i, field := range fields {
		if field == "" {
			if i > 1 {
				fields[i] = "*"
				continue
			}
			return ""
		}
	}
	schedule := strings.Join(fields, " ")
	// systemd wants both the day and the weekday, cron one of them.
	if strings.Contains(schedule, "?") || fields[2] != "*" && fields[4] != "*" {
		return ""
	}
	if parts[6] != "" {
		schedule = "CRON_TZ=" + parts[6] + " " + schedule
	}
	return schedule
}

var leadingZero = regexp.MustCompile(`\b0([0-9])`)

// calendarField turns 1..5, 0/15 and 03 into the form of a crontab.
func calendarField(text, last string) string {
	var items []string
	for item := range strings.SplitSeq(text, ",") {
		first, step, hasStep := strings.Cut(item, "/")
		switch {
		case hasStep && (first == "*" || strings.Trim(first, "0") == ""):
			item = "*/" + step
		case hasStep && !strings.Contains(first, ".."):
			item = first + "-" + last + "/" + step
		}
		items = append(items, leadingZero.ReplaceAllString(strings.ReplaceAll(item, "..", "-"), "$1"))
	}
	return strings.Join(items, ",")
}

// calendarDays turns Mon..Fri,Sun into numbers, "?" for a form without an equal.
func calendarDays(text string) string {
	if text == "" {
		return ""
	}
	var items []string
	for item := range strings.SplitSeq(text, ",") {
		if item == "" {
			continue
		}
		first, last, isRange := strings.Cut(item, "..")
		numbers := numbersOf([]string{first}, weekdayNames, 0)
		if isRange {
			numbers += "-" + numbersOf([]string{last}, weekdayNames, 0)
		}
		if strings.Trim(numbers, "0123456789-") != "" || numbers == "" || strings.HasPrefix(numbers, "-") || strings.HasSuffix(numbers, "-") {
			return "?"
		}
		items = append(items, numbers)
	}
	return weekdays(strings.ReplaceAll(strings.Join(items, ","), "-0", "-7"))
}
