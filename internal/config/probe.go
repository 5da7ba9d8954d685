package config

import (
	"net/url"
	"regexp"
	"strings"
	"time"

	"syncd/internal/config/document"
	"syncd/internal/config/value"
)

// Probe is a question to the consumer of a manifest after a swap: a command, or a URL.
// Without both there is none.
type Probe struct {
	Command  []string
	URL      string // with placeholders
	Contains string // with placeholders; "" for any answer
	Status   int
	Within   time.Duration
	Every    time.Duration
}

// Values of a probe without its own.
const (
	defaultProbeWithin = time.Minute
	defaultProbeEvery  = 2 * time.Second
	defaultProbeStatus = 200
)

// maxProbeWithin bounds how long a sync waits for a consumer.
const maxProbeWithin = 24 * time.Hour

// IsSet is true if there is something to ask.
func (p Probe) IsSet() bool { return len(p.Command) > 0 || p.URL != "" }

// probeOf is the setter of `probe`. None means no probe, also where the general one is set.
func probeOf(to *Probe) document.Setter {
	return func(d *document.Decoder, path string, n *document.Node) {
		if n.Null || n.Kind == document.ScalarKind && n.Text == "none" {
			*to = Probe{}
			return
		}
		if n.Kind != document.MappingKind {
			d.Fail(path, "must be a mapping", `write {command: ["/usr/local/bin/lookup"], within: 60s, every: 2s}, {url: "http://127.0.0.1:8080/version"}, or none`)
			return
		}
		*to = Probe{Within: defaultProbeWithin, Every: defaultProbeEvery, Status: defaultProbeStatus}
		d.Mapping(path, n, document.Table{
			"command":  document.List(&to.Command, value.Text),
			"url":      document.Scalar(&to.URL, parseProbeURL),
			"contains": document.Scalar(&to.Contains, value.Text),
			"status":   document.Scalar(&to.Status, value.Integer(200, 599)),
			"within":   document.Scalar(&to.Within, value.PositiveDuration),
			"every":    document.Scalar(&to.Every, value.PositiveDuration),
		})
		checkProbe(d, *to, path)
	}
}

func checkProbe(d *document.Decoder, p Probe, path string) {
	hasCommand, hasURL := d.IsSet(path+".command"), d.IsSet(path+".url")
	switch {
	case hasCommand && hasURL:
		d.Fail(path+".url", "command is set too", "set one of the two")
	case !hasCommand && !hasURL:
		d.Fail(path, "has neither command nor url", "set one of the two")
	case hasCommand:
		checkArguments(d, p.Command, path+".command")
		for _, key := range []string{".contains", ".status"} {
			if d.IsSet(path + key) {
				d.Fail(path+key, "is only for a url", "remove it: the exit status of a command decides")
			}
		}
	}
	if p.Within > maxProbeWithin {
		d.Fail(path+".within", "is longer than a day", "write how soon after a swap the consumer must work, such as 60s")
	}
	if p.Every > p.Within && d.Valid(path+".every") {
		d.Fail(path+".every", "is longer than within", "write a shorter time, such as 2s")
	}
}

var placeholder = regexp.MustCompile(`\{[^{}]*\}`)

// parseProbeURL accepts a URL with placeholders in its path and query. A user or a password
// would stand in error messages of the consumer.
func parseProbeURL(text string) (string, *document.Fault) {
	const next = `write it as "http://127.0.0.1:8080/version/{release}"; {release}, {revision} and {manifest} are replaced`
	for _, name := range placeholder.FindAllString(text, -1) {
		switch name {
		case "{release}", "{revision}", "{manifest}":
		default:
			return "", document.Refuse("has a placeholder that is not known", next)
		}
	}
	plain := placeholder.ReplaceAllString(text, "x")
	u, err := url.Parse(plain)
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "", u.Fragment != "", u.Opaque != "":
		return "", document.Refuse("is no http or https URL", next)
	case u.User != nil:
		return "", document.Refuse("has a user or a password", "use a command, which can read them from a file")
	case !strings.HasPrefix(text, u.Scheme+"://"+u.Host):
		return "", document.Refuse("has a placeholder outside of its path and query", next)
	}
	return text, nil
}
