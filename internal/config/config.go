// Package config reads syncd's YAML file into a Config whose every value has
// been checked. It promises three things. All problems of a file are found in
// one go, each with line, column, key and a next step. No error, and no
// warning, ever holds a piece of the file's text, which may be a secret. And
// the Customer ID stays unread until Credential.Read asks for it, so that
// commands which do not need it work without it.
//
// It does not look at what the file points to: that a directory can be written
// or a certificate file read is found by those who use them.
package config

import (
	"bytes"
	"slices"
	"time"
)

// Config is one checked configuration file, defaults filled in.
type Config struct {
	Path            string // the file it came from
	Source          Source
	DataDir         string // absolute after Load
	Schedule        Schedule
	Jitter          time.Duration
	RecheckInterval time.Duration
	Transfers       Transfers
	Retain          int           // revisions of a manifest kept beside the served one
	RetainFor       time.Duration // nothing goes sooner than this after leaving current
	Guards          Guards
	HTTP            HTTP
	Services        Services
	Manifests       []Manifest

	secrets []place // where the file itself holds a secret
	plain   []place // where plain http to another host was allowed
}

// Transfers says how much is fetched at the same time, and how fast.
type Transfers struct {
	Files     int   // files at the same time
	Segments  int   // connections of one large file, at most
	Bandwidth int64 // bytes per second over all transfers, 0 = unlimited
}

// Guards are the limits beyond which a release is refused.
type Guards struct {
	MinKeepRatio float64 // the part of the active revision's files that a new list must keep
}

// HTTP is the web server for metrics, health and API.
type HTTP struct {
	Listen    string // host:port, "" = no web server
	WebConfig string // exporter-toolkit file, absolute after Load, "" = plain http without login
}

// Environment is what Load and Credential.Read may see of the process. A nil
// Getenv stands for an empty environment.
type Environment struct {
	Getenv func(string) string
}

// get returns a variable, "" when it is not set.
func (e Environment) get(name string) string {
	if e.Getenv == nil {
		return ""
	}
	return e.Getenv(name)
}

// Default returns the configuration of an empty file: every default, no source
// and no manifests.
func Default() *Config {
	schedule, f := parseSchedule("@every 1h")
	if f != nil {
		panic("config: the default schedule is wrong: " + f.problem)
	}
	c := &Config{
		Source: Source{
			CustomerIDParam: "id",
			Hash:            "SHA256",
			StallTimeout:    30 * time.Second,
			Retry:           Retry{InitialInterval: 500 * time.Millisecond, MaxInterval: 30 * time.Second, MaxElapsed: 15 * time.Minute},
		},
		DataDir:         "/var/lib/syncd",
		Schedule:        schedule,
		Jitter:          5 * time.Minute,
		RecheckInterval: 24 * time.Hour,
		Transfers:       Transfers{Files: 4, Segments: 4},
		Retain:          2,
		RetainFor:       time.Hour,
		Guards:          Guards{MinKeepRatio: 0.5},
		HTTP:            HTTP{Listen: "127.0.0.1:9797"},
		Services:        Services{Prefix: "Provider"},
	}
	c.Services.inherit(c.Source)
	return c
}

// Load reads and checks a file. Its error is an *Error, or several of them
// joined, sorted by position; each prints one line and none shows a piece of
// the file.
func Load(path string, env Environment) (*Config, error) {
	data, mode, err := readFile(path)
	if err != nil {
		return nil, err
	}
	c, err := parse(path, data, env)
	if err != nil {
		return nil, err
	}
	if mode.Perm()&0o044 == 0 {
		c.secrets = nil
	}
	return c, nil
}

// DataDir is the data_dir that a file names, also a file that Load refuses. The health
// check of a running daemon needs it: a file that was broken later must not make a
// container engine end the daemon. Each line that begins with the key is read as a
// file of its own. Without such a line it is the default.
func DataDir(path string) string {
	dir := Default().DataDir
	data, _, err := readFile(path)
	if err != nil {
		return dir
	}
	for line := range bytes.Lines(data) {
		if !bytes.HasPrefix(line, []byte("data_dir:")) {
			continue
		}
		root, problem := readDocument(line)
		if d, err := newDecoder(path, Environment{}); err == nil && problem == nil {
			d.mapping("", root, table{"data_dir": scalar(&dir, d.absolute)})
		}
	}
	return dir
}

// Names returns the names of the manifests, in the order of the file.
func (c *Config) Names() []string {
	names := make([]string, len(c.Manifests))
	for i, m := range c.Manifests {
		names[i] = m.Name
	}
	return names
}

// Has is true when a manifest of that name is configured.
func (c *Config) Has(name string) bool { return slices.Contains(c.Names(), name) }

// Warnings names what works but should not stay so, one line each.
func (c *Config) Warnings() []string {
	var lines []string
	for _, p := range c.secrets {
		lines = append(lines, p.error(c.Path, fault{
			"is a secret, and this file can be read by its group or by others",
			"chmod 600 the file, or use customer_id_file",
		}).Error())
	}
	for _, p := range c.plain {
		lines = append(lines, p.error(c.Path, fault{
			"plain http is insecure: the Customer ID travels unencrypted",
			"use https",
		}).Error())
	}
	return lines
}

// parse is Load on the bytes of a file. The secrets it lists are those that
// the file holds, whoever may read it.
func parse(path string, data []byte, env Environment) (*Config, error) {
	root, problem := readDocument(data)
	if problem != nil {
		return nil, problem.error(path)
	}
	d, err := newDecoder(path, env)
	if err != nil {
		return nil, err
	}
	c := d.config(root)
	if err := d.err(); err != nil {
		return nil, err
	}
	return c, nil
}

// config decodes the whole file.
func (d *decoder) config(root *node) *Config {
	c := Default()
	c.Path = d.file
	d.defaultListen(&c.HTTP)
	var services, manifests *node
	d.mapping("", root, table{
		"source":           d.source(&c.Source),
		"data_dir":         scalar(&c.DataDir, d.absolute),
		"schedule":         scalar(&c.Schedule, parseSchedule),
		"jitter":           scalar(&c.Jitter, parseDuration),
		"recheck_interval": scalar(&c.RecheckInterval, parsePositiveDuration),
		"transfers":        keys(c.Transfers.table()),
		"retain":           scalar(&c.Retain, integer(0, 1_000_000)),
		"retain_for":       scalar(&c.RetainFor, parseDuration),
		"guards":           keys(table{"min_keep_ratio": scalar(&c.Guards.MinKeepRatio, parseRatio)}),
		"http":             keys(d.http(&c.HTTP)),
		"services":         keep(&services),
		"manifests":        keep(&manifests),
	})
	d.checkSource(&c.Source)
	d.services(&c.Services, c.Source, services)
	c.Manifests = d.manifests(manifests, c.Schedule)
	c.secrets, c.plain = d.secrets, d.plain
	return c
}

func (t *Transfers) table() table {
	return table{
		"files":     scalar(&t.Files, integer(1, 64)),
		"segments":  scalar(&t.Segments, integer(1, 16)),
		"bandwidth": scalar(&t.Bandwidth, parseBandwidth),
	}
}

// listenVariable replaces the default of http.listen, never what a file says. The
// container image sets it: loopback in there is out of everyone's reach.
const listenVariable = "SYNCD_HTTP_LISTEN"

func (d *decoder) defaultListen(h *HTTP) {
	text := d.env.get(listenVariable)
	if text == "" {
		return
	}
	listen, f := parseListen(text)
	if f != nil {
		d.errs = append(d.errs, place{key: "$" + listenVariable}.error(d.file, *f))
		return
	}
	h.Listen = listen
}

func (d *decoder) http(h *HTTP) table {
	return table{
		"listen":     scalar(&h.Listen, parseListen),
		"web_config": scalar(&h.WebConfig, d.besideConfig),
	}
}

// place is a key and where it stands.
type place struct {
	key string
	at  position
}

func (p place) error(file string, f fault) *Error {
	return &Error{File: file, Line: p.at.line, Column: p.at.column, Key: p.key, Problem: f.problem, Suggestion: f.suggestion}
}
