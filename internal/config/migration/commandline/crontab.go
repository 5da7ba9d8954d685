package commandline

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// cronLine is a line of a crontab: five fields or a name for them, and a command.
var (
	number   = `[0-9*][0-9*,/~-]*`
	named    = `[0-9*A-Za-z][0-9A-Za-z*,/~-]*`
	cronLine = regexp.MustCompile(`(?m)^[ \t]*(@(?:reboot|yearly|annually|monthly|weekly|daily|midnight|hourly)|` + number + `[ \t]+` + number + `[ \t]+` + number + `[ \t]+` + named + `[ \t]+` + named + `)[ \t]+(\S.*)$`)
	setting  = regexp.MustCompile(`^[ \t]*["']?([A-Za-z_][A-Za-z0-9_]*)["']?[ \t]*=[ \t]*(.*?)[ \t]*$`)
)

func isCrontab(text string) bool { return cronLine.MatchString(text) || anacronLine.MatchString(text) }

// anacronLine is a line of an anacrontab: a period in days, a delay and a name before the
// command.
var anacronLine = regexp.MustCompile(`(?m)^[ \t]*(@[a-z]+|[0-9]{1,3})[ \t]+[0-9]+[ \t]+[A-Za-z][A-Za-z0-9_.-]*[ \t]+([^\s-].*)$`)

// anacronSchedule is that of a period.
func anacronSchedule(period string) string {
	switch days, _ := strconv.Atoi(period); {
	case strings.HasPrefix(period, "@"):
		return period
	case days == 1:
		return "@daily"
	case days == 7:
		return "@weekly"
	case days >= 28 && days <= 31:
		return "@monthly"
	default:
		return every(time.Duration(days) * 24 * time.Hour)
	}
}

// crontab reads a text line by line, as cron does. Each command starts in the home of its
// user, which is not known.
func (r *reader) crontab(text string, s *scope) {
	for i, line := range strings.Split(text, "\n") {
		s.line = i + 1
		trimmed := strings.TrimSpace(line)
		if trimmed == "" || strings.HasPrefix(trimmed, "#") {
			continue
		}
		if parts := anacronLine.FindStringSubmatch(line); parts != nil {
			job := s.inner()
			job.use(anacronSchedule(parts[1]))
			r.group(func() { r.cronCommand(parts[2], job) })
			continue
		}
		if parts := cronLine.FindStringSubmatch(line); parts != nil {
			job := s.inner()
			job.setSchedule(parts[1])
			r.group(func() { r.cronCommand(parts[2], job) })
			continue
		}
		if parts := setting.FindStringSubmatch(line); parts != nil {
			value := unquoted(parts[2])
			r.set(s, parts[1], value, true)
			s.mail = s.mail && parts[1] != "MAILTO" || parts[1] == "MAILTO" && value != ""
			continue
		}
		r.group(func() { shellReader{r}.script(line, s) })
	}
}

// cronCommand reads a command. Cron ends it at a % without a backslash.
func (r *reader) cronCommand(text string, s *scope) {
	if windowsPath.MatchString(text) {
		batchReader{r}.batch(text, s)
		return
	}
	if end := regexp.MustCompile(`(^|[^\\])%`).FindStringIndex(text); end != nil {
		text = text[:end[1]-1]
	}
	text = strings.ReplaceAll(text, `\%`, "%")
	if hasUser(strings.Fields(text)) {
		text = strings.TrimLeft(text, " \t")
		text = strings.Repeat(" ", strings.IndexAny(text, " \t")) + text[strings.IndexAny(text, " \t"):]
	}
	found := len(r.commands)
	shellReader{r}.script(text, s)
	if s.mail && len(r.commands) > found {
		r.note(s.at(s.line), "is mailed to MAILTO when the updater prints something: for failures use %s", failureHook)
	}
}

// hasUser is true for a line of /etc/crontab, which names a user before the command.
func hasUser(fields []string) bool {
	if len(fields) < 2 || !plainWord.MatchString(fields[0]) || slices.Contains(starters, fields[0]) {
		return false
	}
	return fields[1] == "cd" || fields[1] == "[" || setting.MatchString(fields[1]) || strings.HasPrefix(fields[1], "/") && !slices.Contains(harmless, fields[0]) ||
		len(fields) > 2 && slices.Contains(starters, fields[1])
}

var plainWord = regexp.MustCompile(`^[a-z_][a-z0-9_-]*$`)

func unquoted(text string) string {
	if n := len(text); n >= 2 && (text[0] == '"' || text[0] == '\'') && text[n-1] == text[0] {
		return text[1 : n-1]
	}
	return text
}

// setSchedule turns the fields of a line into a schedule of syncd.
func (s *scope) setSchedule(fields string) {
	if fields == "@reboot" {
		s.startup = true
		return
	}
	parts := strings.Fields(fields)
	if len(parts) == 5 {
		parts[4] = weekdays(parts[4])
	}
	text := strings.Join(parts, " ")
	if zone := s.vars["CRON_TZ"]; zone != "" {
		text = "CRON_TZ=" + zone + " " + text
	}
	s.use(text)
}

var toSunday = regexp.MustCompile(`^([0-9])(-7)?(/[0-9]+)?$`)

// weekdays writes Sunday as 0, because syncd does not know it as 7.
func weekdays(field string) string {
	items := strings.Split(field, ",")
	for i, item := range items {
		parts := toSunday.FindStringSubmatch(item)
		if parts == nil || parts[2] == "" && item != "7" {
			continue
		}
		first, _ := strconv.Atoi(parts[1])
		step, _ := strconv.Atoi(strings.TrimPrefix(parts[3], "/"))
		var days []string
		for day := first; day <= 7; day += max(step, 1) {
			days = append(days, strconv.Itoa(day%7))
		}
		items[i] = strings.Join(days, ",")
	}
	return strings.Join(items, ",")
}
