//go:build linux

package doctor

import (
	"cmp"
	"context"
	"io/fs"
	"iter"
	"net/http"
	"slices"

	"github.com/minio/minio-go/v7/pkg/credentials"

	"syncd/internal/clients/transport"
	"syncd/internal/config"
	"syncd/internal/get"
	"syncd/internal/host/account"
	"syncd/internal/host/unitfile"
	"syncd/internal/manifest"
	"syncd/internal/report"
	"syncd/internal/ui/control"
)

// Options are what the doctor looks at, and the parts of the program that it uses.
type Options struct {
	ConfigFile string
	User       string // the user to check permissions for; "" for the daemon's
	Version    string
	Getenv     func(string) string

	ChangerOf  func(path string, opened fs.FileInfo) config.Changer // as of config.Environment
	AddSecret  func(customerID string)                              // called before the first use of a Customer ID, so that output is redacted
	CheckFiles func(cfg *config.Config, id config.Secret) error     // checks the files that the configuration names
	// Connect signs requests with permissions of the daemon's user, by what wrap returns.
	Connect func(cfg *config.Config, id config.Secret, wrap func(Sign) Sign) (Source, error)
	Rings   func(idsFile string) ([]string, error) // the ring of each id, "" for none
	Status  func(ctx context.Context, cfg *config.Config) (report.Status, error)

	Show func([]Finding) // is called after each check with what it found; nil for nothing
}

// Sign adds headers to a request.
type Sign = func(*http.Request) error

// Source is the release service or the bucket of the configuration.
type Source struct {
	Carrier  *transport.Client
	Provider get.Provider
	Files    func(ctx context.Context, name string, release manifest.Release) (iter.Seq[manifest.Reference], error)
}

// Report is what `doctor --json` prints: the worst findings first.
type Report struct {
	Version  string    `json:"version"`
	Config   string    `json:"config"`
	User     string    `json:"user"` // whose permissions were checked
	OK       bool      `json:"ok"`   // nothing failed
	Findings []Finding `json:"findings"`
}

// check is one subject. Those that it needs come before it; it is skipped unless all of
// them passed.
type check struct {
	name  string
	needs []string
	run   func(*examination, context.Context) []Finding
}

// checks go from causes to effects.
var checks = []check{
	{"unit", nil, (*examination).checkUnit},
	{"configuration", nil, (*examination).checkConfiguration},
	{"user", []string{"configuration"}, (*examination).checkUser},
	{"files", []string{"configuration", "user"}, (*examination).checkFiles},
	{"keys", []string{"configuration", "user"}, (*examination).checkTrust},
	{"customer ID", []string{"configuration"}, (*examination).checkID},
	{"credentials", []string{"configuration"}, (*examination).checkCredentials},
	{"sandbox", []string{"configuration"}, (*examination).checkSandbox},
	{"data_dir", []string{"configuration", "user"}, (*examination).checkDataDir},
	{"file system", []string{"data_dir"}, (*examination).checkFileSystem},
	{"file descriptors", nil, (*examination).checkDescriptors},
	{"name resolution", []string{"configuration"}, (*examination).checkNames},
	{"connection", []string{"name resolution"}, (*examination).checkConnection},
	{"TLS", []string{"connection"}, (*examination).checkTLS},
	{"service", []string{"TLS", "credentials"}, (*examination).checkService},
	{"clock", []string{"service"}, (*examination).checkClock},
	{"licence", []string{"service", "customer ID"}, (*examination).checkLicence},
	{"download", []string{"service", "customer ID"}, (*examination).checkDownload},
	{"sources", []string{"configuration", "user"}, (*examination).checkSources},
	{"space", []string{"data_dir", "service", "customer ID"}, (*examination).checkSpace},
	{"patches", []string{"data_dir"}, (*examination).checkPatches},
	{"services", []string{"configuration"}, (*examination).checkServices},
	{"bucket", []string{"configuration"}, (*examination).checkPublish},
	{"traces", []string{"configuration"}, (*examination).checkTraces},
	{"port", []string{"configuration", "user"}, (*examination).checkPort},
	{"serve", []string{"configuration", "user"}, (*examination).checkServe},
	{"daemon", []string{"configuration"}, (*examination).checkDaemon},
	{"manifests", []string{"configuration"}, (*examination).checkManifests},
	{"alerts", []string{"configuration"}, (*examination).checkAlerts},
}

// examination is the subjects of the checks. A subject owns what its checks find out for
// later ones.
type examination struct {
	*setup
	*storage
	*disk
	*provider
	*daemon
	checks []check
}

// setup is the unit, the configuration and the users: all other subjects start from them.
type setup struct {
	Options

	unit          *unitfile.Unit    // nil unless it runs syncd with this configuration
	environ       map[string]string // of the unit
	isBlind       bool              // this user cannot read all of environ, or of its credentials
	keyCredential string            // of the unit, that has the shared file of S3; "" for none
	shellProxy    string            // the proxy of this shell, if the unit has none
	cfg           *config.Config
	sourceAt      string          // the key of the source that is checked: source, or source[0] of a list
	starter       account.Account // reads the configuration and the files that it names
	worker        account.Account // works in data_dir
	id            config.Secret
}

// storage is the object storage of source.s3 and publish.s3.
type storage struct {
	*setup
	keys    credentials.Value
	keyFile string // the credential of the unit that the keys were read from, "" for another source
}

// disk is data_dir, the exported folders and their file system.
type disk struct {
	*setup
	noLinks bool // files are copied
}

// provider is the release service or the bucket of the configuration, and the way to it.
type provider struct {
	*setup
	storage *storage
	disk    *disk

	source Source // empty before name resolution
	answer *transport.Response
	lists  []list
}

// daemon is the daemon of data_dir with its servers.
type daemon struct {
	*setup
	engine    *control.Client // nil while nothing works in data_dir
	isCommand bool            // a command works there, no daemon
}

func newExamination(options Options) *examination {
	shared := &setup{Options: options, sourceAt: "source", starter: account.Self(), worker: account.Self()}
	s, d := &storage{setup: shared}, &disk{setup: shared}
	return &examination{shared, s, d, &provider{setup: shared, storage: s, disk: d}, &daemon{setup: shared}, nil}
}

// list are the files of a configured manifest.
type list struct {
	manifest config.Manifest
	files    []manifest.Reference
	sizes    map[string]int64 // of those that Metadata was asked for, in bytes
}

// Run makes all checks.
func Run(ctx context.Context, options Options) Report {
	e := newExamination(options)
	defer e.close()
	e.checks = checks
	causes := map[string]string{} // of checks that did not pass: the check that failed first
	var all []Finding
	for _, c := range checks {
		found := e.run(ctx, c, causes)
		if _, known := causes[c.name]; !known && slices.ContainsFunc(found, Finding.blocks) {
			causes[c.name] = c.name
		}
		all = append(all, found...)
		if options.Show != nil {
			options.Show(found)
		}
	}
	slices.SortStableFunc(all, func(a, b Finding) int { return cmp.Compare(a.Severity, b.Severity) })
	return Report{
		Version: options.Version, Config: options.ConfigFile, User: e.worker.Name,
		OK: len(all) > 0 && all[0].Severity != Failure, Findings: all,
	}
}

// run makes one check, or says why it cannot.
func (e *examination) run(ctx context.Context, c check, causes map[string]string) []Finding {
	found := []Finding{skipped("interrupted")}
	blocked := slices.IndexFunc(c.needs, func(need string) bool { return causes[need] != "" })
	switch {
	case blocked >= 0:
		causes[c.name] = causes[c.needs[blocked]]
		found = []Finding{skipped("not checked, because %q did not pass", causes[c.name])}
	case ctx.Err() == nil:
		found = c.run(e, ctx)
	}
	for i := range found {
		found[i].Check = c.name
		found[i].Text, found[i].Next = report.OneLine(found[i].Text), report.OneLine(found[i].Next)
	}
	return found
}

func (e *examination) close() {
	if e.source.Carrier != nil {
		e.source.Carrier.Close()
	}
	if e.engine != nil {
		e.engine.Close()
	}
}
