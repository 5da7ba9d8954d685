package value

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"syncd/internal/config/document"
	"syncd/internal/host/rate"
	"syncd/internal/manifest"
)

// shortNumber is a number with or without a unit, or a release: no Customer ID has the form
// of one.
var shortNumber = regexp.MustCompile(`^(-?[0-9]{1,3}(\.[0-9]{1,3})?(%|[A-Za-z]{0,3}| [A-Za-z]{1,7})|20[0-9]{2}[.-][0-9QB]{1,2})$`)

// RefuseNumber returns a fault that names a short number.
func RefuseNumber(text, problem, suggestion string) *document.Fault {
	if shortNumber.MatchString(text) {
		problem += ": " + text
	}
	return document.Refuse(problem, suggestion)
}

// Duration accepts a duration in Go's form that is not negative.
func Duration(text string) (time.Duration, *document.Fault) {
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return 0, RefuseNumber(text, "is not a duration", "use a form such as 30s, 5m or 24h")
	case d < 0:
		return 0, RefuseNumber(text, "is negative", "use a form such as 30s, 5m or 24h")
	}
	return d, nil
}

// Day and Year are units that durations of Go lack. No leap second or year counts.
const (
	Day  = 24 * time.Hour
	Year = 365 * Day
)

// LongDuration also accepts whole days and years.
func LongDuration(text string) (time.Duration, *document.Fault) {
	for suffix, unit := range map[string]time.Duration{"d": Day, "y": Year} {
		number, found := strings.CutSuffix(text, suffix)
		if n, err := strconv.ParseUint(number, 10, 16); found && err == nil && n <= 100*uint64(Year/unit) {
			return time.Duration(n) * unit, nil
		}
	}
	d, problem := Duration(text)
	if problem != nil {
		problem.Suggestion = "use a form such as 2y, 90d or 24h"
	}
	return d, problem
}

// PositiveDuration accepts a duration that is longer than zero.
func PositiveDuration(text string) (time.Duration, *document.Fault) {
	d, f := Duration(text)
	if f == nil && d == 0 {
		return 0, document.Refuse("must be longer than 0", "use a form such as 30s, 5m or 24h")
	}
	return d, f
}

const nextRate = `use a form such as 50MiB, or "" for no limit`

// Rate accepts bytes per second with a unit. "" and 0 mean no limit.
func Rate(text string) (int64, *document.Fault) {
	rate, err := rate.ParseRate(text)
	if err != nil {
		return 0, RefuseNumber(text, err.Error(), nextRate)
	}
	return rate, nil
}

// Bandwidth accepts what Rate does, and a timetable.
func Bandwidth(text string) (rate.Timetable, *document.Fault) {
	t, err := rate.Parse(text)
	if err != nil {
		return rate.Timetable{}, RefuseNumber(text, err.Error(), nextRate+`, or a timetable such as "08:00,20MiB 18:00,off"`)
	}
	return t, nil
}

// Integer returns a parser of whole numbers from low to high.
func Integer(low, high int) func(string) (int, *document.Fault) {
	return func(text string) (int, *document.Fault) {
		n, err := strconv.Atoi(text)
		next := fmt.Sprintf("use a whole number from %d to %d", low, high)
		switch {
		case err != nil:
			return 0, RefuseNumber(text, "is not a whole number", next)
		case n < low || n > high:
			return 0, RefuseNumber(text, "is out of range", next)
		}
		return n, nil
	}
}

// Ratio accepts a number from 0 to 1.
func Ratio(text string) (float64, *document.Fault) {
	ratio, err := strconv.ParseFloat(text, 64)
	if err != nil || !(ratio >= 0 && ratio <= 1) { // also refuses NaN
		return 0, RefuseNumber(text, "is not a number from 0 to 1", "use a form such as 0.5")
	}
	return ratio, nil
}

// Shrink accepts the share that a file may lose. 0 would look like no limit, as beside
// it, and refuse every release with a file that is a byte shorter.
func Shrink(text string) (float64, *document.Fault) {
	share, f := Percent(text)
	if f != nil || share == 0 {
		return 0, RefuseNumber(text, "is not a percentage above 0%", `use a form such as "90%", or "100%" to accept any`)
	}
	return share, nil
}

// Cache returns whether files stay in the page cache.
func Cache(text string) (keep bool, f *document.Fault) {
	switch text {
	case "keep":
		return true, nil
	case "bypass":
		return false, nil
	}
	return false, document.Refuse("is neither bypass nor keep", "use bypass or keep")
}

// Bool accepts true and false in any case.
func Bool(text string) (bool, *document.Fault) {
	switch strings.ToLower(text) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, document.Refuse("is neither true nor false", "use true or false")
}

// Hash accepts the name of a hash of the release service.
func Hash(text string) (manifest.Algorithm, *document.Fault) {
	if hash := manifest.ParseAlgorithm(text); hash != 0 {
		return hash, nil
	}
	return 0, document.Refuse("is not a hash that the service offers", "use SHA256, SHA1 or MD5")
}

var (
	// ParamPattern is the form of a query parameter that needs no escaping.
	ParamPattern = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)
	wordPattern  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)
	hostPattern  = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_.-]{0,253})$`)
)

var (
	// Param accepts the name of a query parameter that needs no escaping.
	Param = Accepting(ParamPattern.MatchString, "is not the name of a query parameter", "use letters, digits, dots, underscores and dashes, such as id")
	// Word accepts a word that can begin a JSON key and an XML name.
	Word = Accepting(wordPattern.MatchString, "is not a word", "use letters, digits and underscores, and begin with no digit")
	// Host accepts the name of a host without scheme and port.
	Host = Accepting(hostPattern.MatchString, "is not the name of a host", "write the name alone, such as mirror.example.net, without scheme and port")
)

// Accepting returns a parser that accepts a text as it is, or refuses it.
func Accepting(fits func(string) bool, problem, suggestion string) func(string) (string, *document.Fault) {
	return func(text string) (string, *document.Fault) {
		if !fits(text) {
			return "", document.Refuse(problem, suggestion)
		}
		return text, nil
	}
}

// Absolute resolves a path against the working directory.
func Absolute(text string) (string, *document.Fault) {
	if text == "" {
		return "", document.Refuse("is empty", "use an absolute path such as /var/lib/syncd")
	}
	path, err := filepath.Abs(text)
	if err != nil {
		return "", document.Refuse("cannot be made absolute: the working directory is gone", "use an absolute path such as /var/lib/syncd")
	}
	return path, nil
}

// DataDir refuses the root of a file system: a mirror's folders do not belong there,
// and the owner of the root, which syncd becomes, is root.
func DataDir(text string) (string, *document.Fault) {
	path, f := Absolute(text)
	if f == nil && filepath.Dir(path) == path {
		return "", document.Refuse("is the root of a file system", "name a folder of its own, such as /var/lib/syncd")
	}
	return path, f
}

// Percent accepts a share as a percentage.
func Percent(text string) (float64, *document.Fault) {
	number, isPercent := strings.CutSuffix(text, "%")
	percent, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || !isPercent || !(percent >= 0 && percent <= 100) { // also refuses NaN
		return 0, RefuseNumber(text, "is not a percentage from 0% to 100%", `use a form such as "2%"`)
	}
	return percent / 100, nil
}

// Text accepts any argument of a command.
func Text(text string) (string, *document.Fault) { return text, nil }
