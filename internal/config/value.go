package config

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"syncd/internal/config/document"
	"syncd/internal/host/rate"
	"syncd/internal/manifest"
)

// The parsers of single values. A fault never holds the input, nor an error of the
// standard library, which quotes the input: by mistake it may be a secret. The exception is
// a number that is too short for one.

// shortNumber is a number with or without a unit, or a release: no Customer ID has the form
// of one.
var shortNumber = regexp.MustCompile(`^(-?[0-9]{1,3}(\.[0-9]{1,3})?(%|[A-Za-z]{0,3}| [A-Za-z]{1,7})|20[0-9]{2}[.-][0-9QB]{1,2})$`)

// refuseNumber returns a fault that names a short number.
func refuseNumber(text, problem, suggestion string) *document.Fault {
	if shortNumber.MatchString(text) {
		problem += ": " + text
	}
	return document.Refuse(problem, suggestion)
}

// parseDuration accepts a duration in Go's form that is not negative.
func parseDuration(text string) (time.Duration, *document.Fault) {
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return 0, refuseNumber(text, "is not a duration", "use a form such as 30s, 5m or 24h")
	case d < 0:
		return 0, refuseNumber(text, "is negative", "use a form such as 30s, 5m or 24h")
	}
	return d, nil
}

// day and year are units that durations of Go lack. No leap second or year counts.
const (
	day  = 24 * time.Hour
	year = 365 * day
)

// parseLongDuration also accepts whole days and years.
func parseLongDuration(text string) (time.Duration, *document.Fault) {
	for suffix, unit := range map[string]time.Duration{"d": day, "y": year} {
		number, found := strings.CutSuffix(text, suffix)
		if n, err := strconv.ParseUint(number, 10, 16); found && err == nil && n <= 100*uint64(year/unit) {
			return time.Duration(n) * unit, nil
		}
	}
	d, problem := parseDuration(text)
	if problem != nil {
		problem.Suggestion = "use a form such as 2y, 90d or 24h"
	}
	return d, problem
}

// parsePositiveDuration accepts a duration that is longer than zero.
func parsePositiveDuration(text string) (time.Duration, *document.Fault) {
	d, f := parseDuration(text)
	if f == nil && d == 0 {
		return 0, document.Refuse("must be longer than 0", "use a form such as 30s, 5m or 24h")
	}
	return d, f
}

const nextRate = `use a form such as 50MiB, or "" for no limit`

// parseRate accepts bytes per second with a unit. "" and 0 mean no limit.
func parseRate(text string) (int64, *document.Fault) {
	rate, err := rate.ParseRate(text)
	if err != nil {
		return 0, refuseNumber(text, err.Error(), nextRate)
	}
	return rate, nil
}

// parseBandwidth accepts what parseRate does, and a timetable.
func parseBandwidth(text string) (rate.Timetable, *document.Fault) {
	t, err := rate.Parse(text)
	if err != nil {
		return rate.Timetable{}, refuseNumber(text, err.Error(), nextRate+`, or a timetable such as "08:00,20MiB 18:00,off"`)
	}
	return t, nil
}

// ParseRate parses bytes per second with a unit, such as 50MiB. "" and 0 mean no limit.
// Its error quotes the text.
func ParseRate(text string) (int64, error) {
	n, f := parseRate(text)
	if f != nil {
		return 0, fmt.Errorf("%q %s: use a form such as 50MiB, or 0 for no limit", text, f.Problem)
	}
	return n, nil
}

// integer returns a parser of whole numbers from low to high.
func integer(low, high int) func(string) (int, *document.Fault) {
	return func(text string) (int, *document.Fault) {
		n, err := strconv.Atoi(text)
		next := fmt.Sprintf("use a whole number from %d to %d", low, high)
		switch {
		case err != nil:
			return 0, refuseNumber(text, "is not a whole number", next)
		case n < low || n > high:
			return 0, refuseNumber(text, "is out of range", next)
		}
		return n, nil
	}
}

// parseRatio accepts a number from 0 to 1.
func parseRatio(text string) (float64, *document.Fault) {
	ratio, err := strconv.ParseFloat(text, 64)
	if err != nil || !(ratio >= 0 && ratio <= 1) { // also refuses NaN
		return 0, refuseNumber(text, "is not a number from 0 to 1", "use a form such as 0.5")
	}
	return ratio, nil
}

// parseShrink accepts the share that a file may lose. 0 would look like no limit, as beside
// it, and refuse every release with a file that is a byte shorter.
func parseShrink(text string) (float64, *document.Fault) {
	share, f := parsePercent(text)
	if f != nil || share == 0 {
		return 0, refuseNumber(text, "is not a percentage above 0%", `use a form such as "90%", or "100%" to accept any`)
	}
	return share, nil
}

// parseCache returns whether files stay in the page cache.
func parseCache(text string) (keep bool, f *document.Fault) {
	switch text {
	case "keep":
		return true, nil
	case "bypass":
		return false, nil
	}
	return false, document.Refuse("is neither bypass nor keep", "use bypass or keep")
}

func parseBool(text string) (bool, *document.Fault) {
	switch strings.ToLower(text) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, document.Refuse("is neither true nor false", "use true or false")
}

func parseHash(text string) (manifest.Algorithm, *document.Fault) {
	if hash := manifest.ParseAlgorithm(text); hash != 0 {
		return hash, nil
	}
	return 0, document.Refuse("is not a hash that the service offers", "use SHA256, SHA1 or MD5")
}

var (
	paramPattern = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)
	wordPattern  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)
	hostPattern  = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_.-]{0,253})$`)
)

var (
	// parseParam accepts the name of a query parameter that needs no escaping.
	parseParam = accepting(paramPattern.MatchString, "is not the name of a query parameter", "use letters, digits, dots, underscores and dashes, such as id")
	// parseWord accepts a word that can begin a JSON key and an XML name.
	parseWord = accepting(wordPattern.MatchString, "is not a word", "use letters, digits and underscores, and begin with no digit")
	parseHost = accepting(hostPattern.MatchString, "is not the name of a host", "write the name alone, such as mirror.example.net, without scheme and port")
)

// accepting returns a parser that accepts a text as it is, or refuses it.
func accepting(fits func(string) bool, problem, suggestion string) func(string) (string, *document.Fault) {
	return func(text string) (string, *document.Fault) {
		if !fits(text) {
			return "", document.Refuse(problem, suggestion)
		}
		return text, nil
	}
}

// parseURL accepts an absolute http or https URL with a host and no fragment.
func parseURL(text string) (*url.URL, *document.Fault) {
	const next = "use a form such as https://releases.example.net"
	u, err := url.Parse(text)
	switch {
	case text == "":
		return nil, document.Refuse("is empty", next)
	case err != nil:
		return nil, document.Refuse("is not a URL", next)
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, document.Refuse("is not an http or https URL", next)
	case u.Opaque != "" || u.Hostname() == "":
		return nil, document.Refuse("has no host", next)
	case u.Port() != "" && !portNumber(u.Port(), 1):
		return nil, document.Refuse("its port is out of range", "use a port from 1 to 65535")
	case strings.Contains(text, "#"):
		return nil, document.Refuse("has a fragment", "remove the # and the text after it")
	}
	return u, nil
}

// parseProxy accepts the URL of a proxy, with or without a user part. "" stands for that
// of the environment.
func parseProxy(text string) (*url.URL, *document.Fault) {
	const next = "use a form such as http://proxy.example.net:3128"
	if text == "" {
		return nil, nil
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, document.Refuse("is not a URL", next)
	case !slices.Contains([]string{"http", "https", "socks5", "socks5h"}, u.Scheme):
		return nil, document.Refuse("is not an http, https, socks5 or socks5h URL", next)
	case u.Opaque != "" || u.Hostname() == "":
		return nil, document.Refuse("has no host", next)
	case u.Port() != "" && !portNumber(u.Port(), 1):
		return nil, document.Refuse("its port is out of range", "use a port from 1 to 65535")
	case strings.Trim(u.Path, "/") != "" || strings.ContainsAny(text, "#?"):
		return nil, document.Refuse("has more than a host and a port", next)
	}
	return u, nil
}

// parseListen accepts host:port, where an empty host means every address. "" turns the
// web server off.
func parseListen(text string) (string, *document.Fault) {
	const next = `use host:port such as 127.0.0.1:9797, or "" for no web server`
	if text == "" {
		return "", nil
	}
	host, port, err := net.SplitHostPort(text)
	if err != nil || !portNumber(port, 0) {
		return "", document.Refuse("is not host:port", next)
	}
	if _, err := netip.ParseAddr(host); err != nil && host != "" && !hostPattern.MatchString(host) {
		return "", document.Refuse("its host is neither a name nor an address", next)
	}
	return text, nil
}

func portNumber(text string, low uint64) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	return err == nil && n >= low
}

// absolute resolves a path against the working directory.
func absolute(text string) (string, *document.Fault) {
	if text == "" {
		return "", document.Refuse("is empty", "use an absolute path such as /var/lib/syncd")
	}
	path, err := filepath.Abs(text)
	if err != nil {
		return "", document.Refuse("cannot be made absolute: the working directory is gone", "use an absolute path such as /var/lib/syncd")
	}
	return path, nil
}

// parseDataDir refuses the root of a file system: a mirror's folders do not belong there,
// and the owner of the root, which syncd becomes, is root.
func parseDataDir(text string) (string, *document.Fault) {
	path, f := absolute(text)
	if f == nil && filepath.Dir(path) == path {
		return "", document.Refuse("is the root of a file system", "name a folder of its own, such as /var/lib/syncd")
	}
	return path, f
}

// besideConfig resolves a path against the directory of the configuration file. ""
// stays "".
func (d *decoder) besideConfig(text string) (string, *document.Fault) {
	if text == "" || filepath.IsAbs(text) {
		return text, nil
	}
	return filepath.Join(d.dir, text), nil
}
