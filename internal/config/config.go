package config

import (
	"bytes"
	"io/fs"
	"net"
	"os"
	"slices"
	"time"

	"syncd/internal/config/document"
	"syncd/internal/config/schedule"
	"syncd/internal/config/value"
	"syncd/internal/disk/fsops"
	"syncd/internal/host/rate"
	"syncd/internal/manifest"
)

// Config is one checked configuration file, defaults filled in.
type Config struct {
	Path            string   // the file it came from
	Source          Source   // the preferred one
	Others          []Source // of a list, in order of preference: each when those before cannot be used
	DataDir         string   // absolute after Load
	Schedule        schedule.Schedule
	Jitter          time.Duration
	RecheckInterval time.Duration
	Transfers       Transfers
	Retain          int           // revisions of a manifest kept besides the served one
	RetainFor       time.Duration // a revision is kept for at least this long after it left current
	Guards          Guards
	Audit           Audit
	Scrub           Scrub
	HTTP            HTTP
	Serve           Serve
	Tracing         Tracing
	Publish         Publish
	Election        Election
	Sign            Sign
	Services        Services
	Manifests       []Manifest
	Views           []View
	Groups          []Group
	Activate        Activation // of manifests without their own
	Gate            Gate       // of manifests without their own
	Probe           Probe      // of manifests without their own
	Hooks           []Hook
	Permissions     Permissions
	Changer         Changer
	DropRemoved     bool // what left the configuration goes at once; otherwise it stays served until `syncd forget`

	place    func(key string) document.Place // where a key stands in the file; nil without one
	secrets  []document.Place                // values of the file that are secrets, if others can read it
	plain    []document.Place                // URLs with plain http to another host, which the file allows
	unsigned []document.Place                // webhooks without a secret
	keys     []keyFile
	writable bool // others than its owner can write the file
}

// keyFile is a file with a private key, a signing secret or, if it is public, the keys or the
// followers' ids that are believed, which the configuration names.
type keyFile struct {
	place    document.Place
	path     string
	isPublic bool
}

// exposed says what others than the file's owner can do that they must not, and what helps; ""
// for nothing.
func (k keyFile) exposed() (problem, next string) {
	info, err := os.Stat(k.path)
	switch {
	case err != nil:
	case k.isPublic && fsops.PermOf(info)&0o022 != 0:
		return "names a file that its group or others can change: they would choose who is believed", "chmod go-w that file"
	case !k.isPublic && fsops.PermOf(info)&0o066 != 0:
		return "names a secret that its group or others can read or change", "chmod 600 that file"
	}
	return "", ""
}

// Scrub says when all objects are re-read.
type Scrub struct {
	Schedule schedule.Schedule // the zero value never runs
	Rate     int64             // bytes per second, 0 = unlimited
}

// Audit says what is remembered of past generations.
type Audit struct {
	Keep time.Duration // how long the record of what was served outlives that
}

// Transfers limits downloads.
type Transfers struct {
	Files     int            // large files downloaded at the same time
	Segments  int            // connections for one large file, at most
	Bandwidth rate.Timetable // bytes per second for all transfers together

	PublishAfter time.Duration // how long ready manifests wait for the others of their sync
	KeepCache    bool          // large files stay in the page cache
}

// Guards are the limits beyond which a release is refused.
type Guards struct {
	MinKeepRatio  float64 // share of the active revision's files that a new release must keep, 0 to 1
	MinBytesRatio float64 // the same for their bytes
	MaxFileShrink float64 // share of its bytes that one file may lose, above 0 to 1; 1 = any
	MaxRowsGone   float64 // share of the rows of one file, and of all, that may go, above 0 to 1; 1 = any
}

// HTTP is the web server for metrics, health and API.
type HTTP struct {
	Listen    string   // host:port, "" = no web server
	WebConfig string   // exporter-toolkit file, absolute after Load, "" = plain http without passwords
	Hosts     []string // further names that requests may have in Host
}

// Names returns the names that requests may have in Host: Hosts and the host of Listen.
func (h HTTP) Names() []string {
	host, _, _ := net.SplitHostPort(h.Listen) // Listen is checked
	if host == "" {
		return h.Hosts
	}
	return append(slices.Clone(h.Hosts), host)
}

// Environment gives Load and Credential.Read the environment variables. A nil Getenv
// is an empty environment.
type Environment struct {
	Getenv func(string) string

	// UnitCredential returns the file from which the systemd unit that uses a configuration
	// file loads the Customer ID for its user, "" for none. It counts when nothing else sets
	// an ID. nil is no unit.
	UnitCredential func(configFile string) (path, user string)

	// ChangerOf returns the user who can change a configuration file that was opened. nil is
	// only this one.
	ChangerOf func(path string, opened fs.FileInfo) Changer
	changer   Changer
}

// get returns a variable, or "" when it is not set.
func (e Environment) get(name string) string {
	if e.Getenv == nil {
		return ""
	}
	return e.Getenv(name)
}

// Default returns every default, without the address of a source and without
// manifests.
func Default() *Config {
	hourly, f := schedule.Value("@every 1h")
	if f != nil {
		panic("config: the default schedule is wrong: " + f.Problem)
	}
	c := &Config{
		Source: Source{
			Connection: Connection{
				CustomerIDParam: "id",
				StallTimeout:    30 * time.Second,
				Retry:           Retry{InitialInterval: 500 * time.Millisecond, MaxInterval: 30 * time.Second, MaxElapsed: 15 * time.Minute},
			},
			Hash:    manifest.SHA256,
			MinRate: MinRate{Rate: 1 << 10, Over: 2 * time.Minute},
			Report:  ReportAuto,
		},
		DataDir:         "/var/lib/syncd",
		Schedule:        hourly,
		Jitter:          5 * time.Minute,
		RecheckInterval: 24 * time.Hour,
		Transfers:       Transfers{Files: 4, Segments: 4, PublishAfter: time.Minute},
		Retain:          2,
		RetainFor:       time.Hour,
		Audit:           Audit{Keep: 2 * value.Year},
		Scrub:           Scrub{Rate: 50 << 20},
		Guards:          Guards{MinKeepRatio: 0.5, MaxFileShrink: 0.9, MaxRowsGone: 1},
		HTTP:            HTTP{Listen: "127.0.0.1:9797"},
		Serve:           Serve{Keep: value.Day, KeepMax: KeepTenth, MaxHosts: 1000},
		Publish:         Publish{Grace: 3 * value.Day},
		Sign:            Sign{Valid: 2 * value.Day},
		Services:        Services{Prefix: "Provider"},
		Permissions:     Permissions{Files: 0o444, Directories: 0o755, Group: UnchangedGroup},
	}
	c.Services.inherit(c.Source)
	return c
}

// Load reads and checks a file. Its error is one *document.Error or several joined ones,
// sorted by position. Each prints one line, and none quotes the file.
func Load(path string, env Environment) (*Config, error) { return loadFile(path, env, false) }

// LoadSource is Load for commands that only ask the source: the file may have no manifests
// yet.
func LoadSource(path string, env Environment) (*Config, error) { return loadFile(path, env, true) }

// ParseSource is LoadSource on a text that is not in its file yet.
func ParseSource(path string, data []byte, env Environment) (*Config, error) {
	return decode(path, data, env, true)
}

func loadFile(path string, env Environment, sourceOnly bool) (*Config, error) {
	data, info, err := document.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if env.ChangerOf != nil {
		env.changer = env.ChangerOf(path, info)
	}
	c, err := decode(path, data, env, sourceOnly)
	if err != nil {
		return nil, err
	}
	perm := fsops.PermOf(info)
	if perm&0o044 == 0 {
		c.secrets = nil
	}
	c.Changer, c.writable = env.changer, perm&0o022 != 0
	return c, nil
}

// DataDir returns the data_dir of a file that Load may refuse, or the default. The
// health check of a running daemon needs it: when someone breaks the file, a container
// engine must not end the daemon. DataDir reads the line of data_dir as a file of its
// own, because the YAML around it may be broken.
func DataDir(path string) string {
	dir := Default().DataDir
	data, _, err := document.ReadFile(path)
	if err != nil {
		return dir
	}
	for line := range bytes.Lines(data) {
		if !bytes.HasPrefix(line, []byte("data_dir:")) {
			continue
		}
		if root, err := document.Parse(path, line); err == nil {
			document.NewDecoder(path).Mapping("", root, document.Table{"data_dir": document.Scalar(&dir, value.Absolute)})
		}
	}
	return dir
}

// At returns the place of a key in the file. Problems that show up only after Load name
// it, such as those of a file that the key names.
func (c *Config) At(key string) document.Place {
	if c.place == nil {
		return document.Place{Key: key}
	}
	return c.place(key)
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

// Exports is true when a view is exported.
func (c *Config) Exports() bool {
	return slices.ContainsFunc(c.Views, func(v View) bool { return v.Export != "" })
}

// RunsPrograms is true when a gate, a probe or a hook is a command.
func (c *Config) RunsPrograms() bool {
	return slices.ContainsFunc(c.Manifests, func(m Manifest) bool { return len(m.Gate.Command)+len(m.Probe.Command) > 0 }) ||
		slices.ContainsFunc(c.Hooks, func(h Hook) bool { return len(h.Command) > 0 })
}

// Warnings returns one line for each setting that works but is unsafe.
func (c *Config) Warnings() []string {
	var lines []string
	if c.writable {
		lines = append(lines, document.Place{}.Error(c.Path, "can be written by its group or by others", "chmod go-w the file").Error())
	}
	for _, p := range c.secrets {
		lines = append(lines, p.Error(c.Path, "is a secret, and this file can be read by its group or by others",
			"chmod 600 the file, or use customer_id_file").Error())
	}
	for _, k := range c.keys {
		if problem, next := k.exposed(); problem != "" {
			lines = append(lines, k.place.Error(c.Path, problem, next).Error())
		}
	}
	for _, p := range c.unsigned {
		lines = append(lines, p.Error(c.Path, "its events are not signed, so that its receiver cannot tell who sent them",
			"set secret_file").Error())
	}
	for _, p := range c.plain {
		lines = append(lines, p.Error(c.Path, "plain http is insecure: the Customer ID travels unencrypted",
			"use https").Error())
	}
	return append(lines, c.Serve.warnings(c.Path)...)
}

// Notes returns one line for each setting that may surprise someone who reads only the
// file.
func (c *Config) Notes() []string {
	if c.Source.Credential.fromUpdater() {
		return []string{"the Customer ID comes from $" + updaterName + ", because nothing else sets one"}
	}
	return nil
}

// decode is loadFile on the bytes of a file. It lists the secrets in the file, whatever
// the file's mode.
func decode(path string, data []byte, env Environment, sourceOnly bool) (*Config, error) {
	root, err := document.Parse(path, data)
	if err != nil {
		return nil, err
	}
	d, err := newDecoder(path, env)
	if err != nil {
		return nil, err
	}
	d.sourceOnly = sourceOnly
	c := d.config(root)
	if err := d.Err(); err != nil {
		return nil, err
	}
	return c, nil
}

// config decodes the whole file.
func (d *decoder) config(root *document.Node) *Config {
	c := Default()
	c.Path = d.File
	d.defaultListen(&c.HTTP)
	var services, manifests, views, groups, hooks *document.Node
	d.Mapping("", root, document.Table{
		"source":           d.sources(c),
		"data_dir":         document.Scalar(&c.DataDir, value.DataDir),
		"schedule":         document.Scalar(&c.Schedule, schedule.Value),
		"jitter":           document.Scalar(&c.Jitter, value.Duration),
		"recheck_interval": document.Scalar(&c.RecheckInterval, value.PositiveDuration),
		"transfers":        document.Keys(c.Transfers.table()),
		"retain":           document.Scalar(&c.Retain, value.Integer(0, 1_000_000)),
		"retain_for":       document.Scalar(&c.RetainFor, value.Duration),
		"guards":           document.Keys(c.Guards.table()),
		"audit":            document.Keys(document.Table{"keep": document.Scalar(&c.Audit.Keep, value.LongDuration)}),
		"scrub":            document.Keys(c.Scrub.table()),
		"http":             document.Keys(d.http(&c.HTTP)),
		"serve":            d.serve(&c.Serve),
		"tracing":          document.Keys(c.Tracing.table()),
		"publish":          d.publish(&c.Publish),
		"sign":             document.Keys(d.sign(&c.Sign)),
		"election":         document.Keys(c.Election.table()),
		"services":         document.Keep(&services),
		"manifests":        document.Keep(&manifests),
		"views":            document.Keep(&views),
		"activate":         activation(&c.Activate),
		"gate":             gateOf(&c.Gate),
		"probe":            probeOf(&c.Probe),
		"groups":           document.Keep(&groups),
		"hooks":            document.Keep(&hooks),
		"permissions":      document.Keys(c.Permissions.table()),
		"removed":          document.Scalar(&c.DropRemoved, parseRemoved),
	})
	d.checkSources(c)
	d.checkPublish(c)
	d.checkSign(c)
	c.Tracing.check(d.Decoder)
	d.services(&c.Services, c.Source, services)
	c.Manifests = d.manifests(manifests, Manifest{Release: manifest.Latest, Schedule: c.Schedule, Activate: c.Activate, Gate: c.Gate, Probe: c.Probe})
	d.checkSigned(c)
	c.Views = d.views(views, c)
	c.Groups = decodeGroups(d.Decoder, groups, c)
	c.Hooks = d.hooks(hooks, c)
	checkNames(d.Decoder, c)
	checkVariables(d.Decoder, c)
	c.place = d.Place
	c.secrets, c.plain, c.keys, c.unsigned = d.secrets, d.plain, d.keys, d.unsigned
	return c
}

func (s *Scrub) table() document.Table {
	return document.Table{
		"schedule": document.Scalar(&s.Schedule, schedule.Optional),
		"rate":     document.Scalar(&s.Rate, value.Rate),
	}
}

func (g *Guards) table() document.Table {
	return document.Table{
		"min_keep_ratio":  document.Scalar(&g.MinKeepRatio, value.Ratio),
		"min_bytes_ratio": document.Scalar(&g.MinBytesRatio, value.Ratio),
		"max_file_shrink": document.Scalar(&g.MaxFileShrink, value.Shrink),
		"max_rows_gone":   document.Scalar(&g.MaxRowsGone, value.Shrink),
	}
}

func (t *Transfers) table() document.Table {
	return document.Table{
		"files":         document.Scalar(&t.Files, value.Integer(1, 64)),
		"segments":      document.Scalar(&t.Segments, value.Integer(1, 16)),
		"bandwidth":     document.Scalar(&t.Bandwidth, value.Bandwidth),
		"publish_after": document.Scalar(&t.PublishAfter, value.Duration),
		"cache":         document.Scalar(&t.KeepCache, value.Cache),
	}
}

// listenVariable replaces the default of http.listen, but never a value in the file.
// The container image sets it, because nothing outside a container reaches its loopback.
const listenVariable = "SYNCD_HTTP_LISTEN"

func (d *decoder) defaultListen(h *HTTP) {
	text := d.env.get(listenVariable)
	if text == "" {
		return
	}
	listen, f := value.Listen(text)
	if f != nil {
		d.FailAt(document.Place{Key: "$" + listenVariable}, f.Problem, f.Suggestion)
		return
	}
	h.Listen = listen
}

func (d *decoder) http(h *HTTP) document.Table {
	return document.Table{
		"listen":     document.Scalar(&h.Listen, value.Listen),
		"web_config": document.Scalar(&h.WebConfig, d.besideConfig),
		"hosts":      document.List(&h.Hosts, value.Host),
	}
}
