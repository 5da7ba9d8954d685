package commandline

import (
	"testing"

	"syncd/internal/config/schedule"
)

// A schedule without an equal is "": the command line then says so.
func TestSchedulesBecomeThoseOfSyncd(t *testing.T) {
	task := func(options ...string) string {
		o := map[string]string{}
		for i := 0; i+1 < len(options); i += 2 {
			o[options[i]] = options[i+1]
		}
		return taskSchedule(o["/sc"], o)
	}
	for name, row := range map[string]struct{ got, want string }{
		"a word":                  {calendar("daily"), "@daily"},
		"weekly is Monday":        {calendar("weekly"), "0 0 * * 1"},
		"a time":                  {calendar("03:30"), "30 3 * * *"},
		"a time with seconds":     {calendar("*-*-* 03:30:00"), "30 3 * * *"},
		"other seconds":           {calendar("*-*-* 03:30:30"), ""},
		"weekdays":                {calendar("Mon..Fri,Sun 22:00"), "0 22 * * 1-5,0"},
		"a week end":              {calendar("Sat..Sun 22:00"), "0 22 * * 6,0"},
		"days of a month":         {calendar("*-*-01,15 04:05"), "5 4 1,15 * *"},
		"the last day":            {calendar("*-*~01 04:05"), ""},
		"a year":                  {calendar("2027-01-01 04:05"), ""},
		"every quarter hour":      {calendar("*:0/15"), "*/15 * * * *"},
		"a zone":                  {calendar("04:05 Europe/Berlin"), "CRON_TZ=Europe/Berlin 5 4 * * *"},
		"days and weekdays":       {calendar("Sun *-*-1..7 04:00"), ""},
		"nothing":                 {calendar(""), ""},
		"a span":                  {interval("6h"), "@every 6h"},
		"minutes":                 {interval("90 min"), "@every 1h30m"},
		"seconds":                 {interval("90"), "@every 1m30s"},
		"a day":                   {interval("1d"), "@every 24h"},
		"two units":               {interval("1h 30min"), ""},
		"schtasks daily":          {task("/sc", "daily", "/st", "03:30"), "30 3 * * *"},
		"schtasks every two days": {task("/sc", "daily", "/mo", "2", "/st", "03:30"), ""},
		"schtasks weekly":         {task("/sc", "weekly", "/d", "MON,fri", "/st", "03:30"), "30 3 * * 1,5"},
		"schtasks any day":        {task("/sc", "weekly", "/d", "*", "/st", "03:30"), "30 3 * * *"},
		"schtasks wrong day":      {task("/sc", "weekly", "/d", "XYZ", "/st", "03:30"), ""},
		"schtasks monthly":        {task("/sc", "monthly", "/st", "03:30"), "30 3 1 * *"},
		"schtasks quarterly":      {task("/sc", "monthly", "/mo", "3", "/d", "5", "/st", "03:30"), "30 3 5 */3 *"},
		"schtasks minutes":        {task("/sc", "minute", "/mo", "15"), "@every 15m"},
		"schtasks hours":          {task("/sc", "hourly", "/st", "00:20"), "20 * * * *"},
		"schtasks once":           {task("/sc", "once", "/st", "00:20"), ""},
		"schtasks without a time": {task("/sc", "daily"), ""},
		"anacron":                 {anacronSchedule("7"), "@weekly"},
		"anacron in days":         {anacronSchedule("3"), "@every 72h"},
	} {
		if row.got != row.want {
			t.Errorf("%s: %q, want %q", name, row.got, row.want)
		}
		if _, err := schedule.Parse(row.got); row.got != "" && err != nil {
			t.Errorf("%s: %q: %v", name, row.got, err)
		}
	}
}
