package commandline

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"

	"syncd/internal/config/schedule"
)

// setTask sets the schedule of `schtasks /create`.
func (s *scope) setTask(words []Word) {
	o := map[string]string{}
	for i, w := range words[1:] {
		if strings.HasPrefix(w.Text, "/") {
			o[strings.ToLower(w.Text)] = ""
			if i+2 < len(words) && !strings.HasPrefix(words[i+2].Text, "/") {
				o[strings.ToLower(w.Text)] = words[i+2].Text
			}
		}
	}
	if _, isCreated := o["/create"]; !isCreated {
		return
	}
	switch kind := strings.ToLower(o["/sc"]); kind {
	case "onstart", "onlogon":
		s.startup = true
	default:
		s.use(taskSchedule(kind, o))
	}
}

// use sets a schedule; "" is one without an equal.
func (s *scope) use(text string) {
	if _, err := schedule.Parse(text); text == "" || err != nil {
		s.unusual = true
		return
	}
	s.schedule = text
}

// taskSchedule returns the schedule of the options of schtasks, "" without an equal.
func taskSchedule(kind string, o map[string]string) string {
	step := 1
	if text := o["/mo"]; text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > 1439 {
			return ""
		}
		step = n
	}
	switch {
	case o["/ri"] != "":
		return everyMinutes(o["/ri"])
	case kind == "minute":
		return everyMinutes(strconv.Itoa(step))
	case kind == "hourly" && (step > 1 || o["/st"] == ""):
		return everyMinutes(strconv.Itoa(60 * step))
	}
	at, err := time.Parse("15:04", o["/st"])
	if err != nil {
		return ""
	}
	days := strings.Split(o["/d"], ",")
	switch {
	case kind == "hourly":
		return fmt.Sprintf("%d * * * *", at.Minute())
	case kind == "daily" && step == 1:
		return cronLineOf(at, "*", "*", "*")
	case kind == "weekly" && step == 1 && o["/d"] == "*":
		return cronLineOf(at, "*", "*", "*")
	case kind == "weekly" && step == 1:
		return cronLineOf(at, "*", "*", numbersOf(days, weekdayNames, 0))
	case kind == "monthly":
		return monthly(at, o, step)
	}
	return ""
}

func everyMinutes(text string) string {
	if n, err := strconv.Atoi(text); err == nil && n > 0 && n < 600_000 {
		return every(time.Duration(n) * time.Minute)
	}
	return ""
}

// every is a schedule without a time of day.
func every(d time.Duration) string {
	text := strings.TrimSuffix(d.String(), "m0s")
	if len(text) < len(d.String()) {
		text = strings.TrimSuffix(text+"m", "h0m")
		if !strings.HasSuffix(text, "m") {
			text += "h"
		}
	}
	return "@every " + text
}

func monthly(at time.Time, o map[string]string, step int) string {
	day, months := o["/d"], "*"
	if day == "" {
		day = "1"
	}
	switch {
	case o["/m"] != "" && o["/m"] != "*":
		months = numbersOf(strings.Split(o["/m"], ","), monthNames, 1)
	case step > 1 && 12%step == 0:
		months = fmt.Sprintf("*/%d", step)
	case step > 1:
		return ""
	}
	return cronLineOf(at, day, months, "*")
}

// cronLineOf returns a line of a crontab, "" when a part of it is unknown.
func cronLineOf(at time.Time, day, months, weekdays string) string {
	if day == "" || months == "" || weekdays == "" {
		return ""
	}
	return fmt.Sprintf("%d %d %s %s %s", at.Minute(), at.Hour(), day, months, weekdays)
}

// task is a task of the Windows Task Scheduler, as far as it starts something.
type task struct {
	Triggers struct {
		Calendar []trigger `xml:"CalendarTrigger"`
		Time     []trigger `xml:"TimeTrigger"`
		Boot     []trigger `xml:"BootTrigger"`
		Logon    []trigger `xml:"LogonTrigger"`
		Other    []struct {
			XMLName xml.Name
		} `xml:",any"`
	}
	Settings struct{ Enabled string }
	Actions  struct {
		Exec  []execution
		Other []struct {
			XMLName xml.Name
		} `xml:",any"`
	}
}

type trigger struct {
	Enabled       string
	StartBoundary string
	RandomDelay   string
	Repetition    struct{ Interval string }
	ScheduleByDay *struct{ DaysInterval string }
	Week          *struct {
		WeeksInterval string
		DaysOfWeek    names
	} `xml:"ScheduleByWeek"`
	Month *struct {
		DaysOfMonth struct {
			Day []string
		}
		Months names
	} `xml:"ScheduleByMonth"`
}

// names are elements that are empty and count by their names, such as <Monday/>.
type names struct {
	Elements []struct {
		XMLName xml.Name
	} `xml:",any"`
}

func (n names) list() (all []string) {
	for _, element := range n.Elements {
		all = append(all, element.XMLName.Local)
	}
	return all
}

type execution struct{ Command, Arguments, WorkingDirectory string }

// tasks reads the XML of one task, or of several as `schtasks /query /xml` prints them.
func (r *reader) tasks(text string, s *scope) {
	decoder := xml.NewDecoder(strings.NewReader(text))
	// The text is decoded already, also when its first line says UTF-16.
	decoder.CharsetReader = func(_ string, input io.Reader) (io.Reader, error) { return input, nil }
	for {
		token, err := decoder.Token()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				line, _ := decoder.InputPos()
				r.skipFrom(s.at(line), text)
			}
			return
		}
		element, isElement := token.(xml.StartElement)
		if !isElement || element.Name.Local != "Task" {
			continue
		}
		line, _ := decoder.InputPos()
		var t task
		if err := decoder.DecodeElement(&t, &element); err != nil {
			r.skipFrom(s.at(line), text)
			return
		}
		r.group(func() { r.task(t, s.at(line), s) })
	}
}

// skipFrom notes that the rest of a text cannot be read.
func (r *reader) skipFrom(at Place, text string) {
	r.skip(Place{at.file, 1}, text)
	r.note(at, "and what follows cannot be read as XML: export the task again, `schtasks /query /tn NAME /xml > task.xml`")
}

func (r *reader) task(t task, at Place, s *scope) {
	in := s.inner()
	in.line = at.line
	in.setTriggers(t)
	if strings.EqualFold(t.Settings.Enabled, "false") {
		in.remarks = append(in.remarks, "the task is switched off: leave the entry out if that is meant")
	}
	for _, action := range t.Actions.Exec {
		command := in.inner()
		text := `"` + strings.Trim(action.Command, ` "`) + `" ` + action.Arguments
		command.shell.depth++
		batchReader{r}.batchText(strings.ReplaceAll(text, "\n", " "), at.line, command)
	}
	for _, other := range t.Actions.Other {
		r.lose([]Word{{other.XMLName.Local, true}}, at, in)
	}
}

// setTriggers sets the schedule of a task: that of the first trigger.
func (s *scope) setTriggers(t task) {
	var active []trigger
	for _, one := range append(t.Triggers.Calendar, t.Triggers.Time...) {
		if !strings.EqualFold(one.Enabled, "false") {
			active = append(active, one)
		}
	}
	s.startup = len(t.Triggers.Boot)+len(t.Triggers.Logon) > 0
	if len(active) > 1 {
		s.remarks = append(s.remarks, "the task has several triggers: the first one is used")
	}
	for _, other := range t.Triggers.Other {
		s.remarks = append(s.remarks, other.XMLName.Local+": syncd has no equal of this trigger")
	}
	if len(active) == 0 {
		return
	}
	if active[0].RandomDelay != "" {
		s.remarks = append(s.remarks, "RandomDelay: syncd waits up to `jitter` (5m) before each sync")
	}
	s.use(active[0].schedule())
}

var isoDuration = regexp.MustCompile(`^P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?)?$`)

// schedule returns "" for a trigger without an equal.
func (t trigger) schedule() string {
	if parts := isoDuration.FindStringSubmatch(t.Repetition.Interval); parts != nil {
		days, _ := strconv.Atoi(parts[1])
		hours, _ := strconv.Atoi(parts[2])
		minutes, _ := strconv.Atoi(parts[3])
		return everyMinutes(strconv.Itoa((days*24+hours)*60 + minutes))
	}
	if len(t.StartBoundary) < len("2006-01-02T15:04") {
		return ""
	}
	at, err := time.Parse("2006-01-02T15:04", t.StartBoundary[:len("2006-01-02T15:04")])
	if err != nil {
		return ""
	}
	switch {
	case t.ScheduleByDay != nil && strings.TrimSpace(t.ScheduleByDay.DaysInterval) == "1":
		return cronLineOf(at, "*", "*", "*")
	case t.Week != nil && strings.TrimSpace(t.Week.WeeksInterval) == "1":
		return cronLineOf(at, "*", "*", numbersOf(t.Week.DaysOfWeek.list(), weekdayNames, 0))
	case t.Month != nil:
		months := "*"
		if all := t.Month.Months.list(); len(all) < len(monthNames) {
			months = numbersOf(all, monthNames, 1)
		}
		return cronLineOf(at, strings.Join(t.Month.DaysOfMonth.Day, ","), months, "*")
	}
	return ""
}
