package migration

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"syncd/internal/config"
	"syncd/internal/config/migration/commandline"
	"syncd/internal/manifest"
)

// plan is the configuration that comes from command lines.
type plan struct {
	secrets   commandline.Secrets
	usableMap func(path string) bool
	entries   []*entry
	views     []*view
	licences  []commandline.Place // lines that have a licence
	looking   []commandline.Place // lines that download nothing
	notes     []string            // on the text as a whole
}

// entry is an entry of manifests.
type entry struct {
	name     string
	product  string
	files    []manifest.Reference
	tag      string
	release  manifest.Release
	schedule string
	target   string // of single files
	notes    []string
}

// view is the arrangement of one target folder.
type view struct {
	name    string
	target  string // a key; the path of a folder when known is true
	known   bool
	members []*entry
	maps    map[*entry]string // paths of map files
	mapped  map[*entry]bool   // the updater has a map for them
	export  string
	notes   []string
}

// add adds one command line.
func (p *plan) add(c commandline.Command) {
	set := c.Options
	target, known := p.folder(c, set)
	if c.IsLicensed || set.Has("license") {
		p.licences = append(p.licences, c.At)
	}
	if c.Verb == "verify" {
		p.notes = append(p.notes, c.At.String()+", verify: use `syncd verify`, which also repairs with --repair")
		return
	}
	if notes := lookNotes(set); len(notes) > 0 {
		p.looking = append(p.looking, c.At)
		for _, note := range notes {
			p.notes = append(p.notes, fmt.Sprintf("%s downloads nothing and is left out, %s", c.At, note))
		}
		return
	}
	e, problem := p.entry(c, set, target)
	if problem != "" {
		p.notes = append(p.notes, fmt.Sprintf("%s is left out: %s", c.At, problem))
		return
	}
	notes := append(optionNotes(c, set), p.unknownNotes(c.Strange)...)
	notes = append(notes, c.Remarks...)
	if c.IsUnusual {
		notes = append(notes, "syncd has no equal of the schedule: add schedule, or leave the default of once an hour")
	}
	if c.AtStart {
		notes = append(notes, "at each start of the host: syncd syncs then, too, and by schedule")
	}
	for _, note := range notes {
		e.notes = append(e.notes, fmt.Sprintf("%s, %s", c.At, note))
	}
	p.place(c, set, e, p.view(target, known))
}

// entry finds or adds the entry of a command line, or returns why there is none.
func (p *plan) entry(c commandline.Command, set commandline.Options, target string) (*entry, string) {
	name := set.Get(commandline.Verbs[c.Verb])
	if !name.Known || p.secrets.In(name.Text) {
		return nil, "its " + map[string]string{"manifest": "manifest", "product": "product", "file": "file"}[c.Verb] + " is in a variable that the text does not set, or is not usable"
	}
	wanted := entry{schedule: c.Schedule, release: manifest.Latest, target: target}
	if release, _ := releaseOf(set); release != "" {
		wanted.release = release
	}
	if tag := set.Get("tag"); set.Has("tag") {
		if !config.UsableTag(tag.Text) || p.secrets.In(tag.Text) {
			return nil, "its tag is not usable"
		}
		wanted.tag = tag.Text
	}
	switch c.Verb {
	case "file":
		return p.fileEntry(wanted, set, name.Text)
	case "product":
		if manifest.CheckSegment(name.Text) != nil || strings.TrimSpace(name.Text) != name.Text {
			return nil, "its product has no usable name"
		}
		wanted.product, wanted.name = name.Text, plainName(name.Text)
	default:
		if !config.UsableName(name.Text) {
			return nil, "its manifest has no usable name"
		}
		wanted.name, wanted.tag = name.Text, ""
	}
	return p.merge(wanted, c.At), ""
}

var shortMonth = regexp.MustCompile(`^([0-9]{4})[.-]([1-9])$`)

// releaseOf returns the release that -r asks for, "" for none. People also write a month
// with one digit.
func releaseOf(set commandline.Options) (release manifest.Release, isCorrected bool) {
	text := set.Get("release_version").Text
	if parts := shortMonth.FindStringSubmatch(text); parts != nil {
		return manifest.Release(parts[1] + ".0" + parts[2]), true
	}
	release, _ = manifest.ParseRelease(text) // "" with an error
	return release, false
}

// merge returns the entry that does what wanted does. Two entries cannot have one name.
func (p *plan) merge(wanted entry, at commandline.Place) *entry {
	for _, e := range p.entries {
		if wanted.product != e.product || wanted.tag != e.tag || len(e.files) > 0 || wanted.product == "" && !strings.EqualFold(e.name, wanted.name) {
			continue
		}
		if e.release != wanted.release {
			e.notes = append(e.notes, fmt.Sprintf("%s, -r: asks for release %s, too: mirror it with a second configuration and data_dir", at, wanted.release))
		}
		if e.schedule != wanted.schedule && wanted.schedule != "" {
			e.notes = append(e.notes, fmt.Sprintf("%s has another schedule: the first one is used", at))
		}
		return e
	}
	if wanted.product != "" {
		wanted.name = p.freeName(wanted.name)
	}
	for _, e := range p.entries { // the name of a manifest is fixed, others are not
		if strings.EqualFold(e.name, wanted.name) {
			e.name = p.freeName(e.name + "_file")
		}
	}
	p.entries = append(p.entries, &wanted)
	return &wanted
}

// classes are the values of -y.
var classes = map[string]manifest.Class{"": manifest.Data, "DATA": manifest.Data, "BINARY": manifest.Library, "INTERFACE": manifest.Interface}

// fileEntry adds a single file to an entry of single files.
func (p *plan) fileEntry(wanted entry, set commandline.Options, name string) (*entry, string) {
	class, found := classes[strings.ToUpper(set.Get("type").Text)]
	if !found {
		return nil, "its type is not DATA, BINARY or INTERFACE"
	}
	parts := manifest.Parts{Class: class, Release: wanted.release, Name: name}
	compiler := cmp.Or(set.Get("compiler").Text, "ANY")
	if class != manifest.Data {
		parts.OS, parts.Architecture = cmp.Or(set.Get("os").Text, "ANY"), cmp.Or(set.Get("architecture").Text, "ANY")
	}
	switch class {
	case manifest.Library:
		parts.Compiler = compiler
	case manifest.Interface:
		parts.Language = compiler
	}
	ref := parts.Reference()
	if again, err := manifest.ParseReference(ref.String()); err != nil || again != ref || p.secrets.In(ref.String()) {
		return nil, "its file has no usable name"
	}
	wanted.release = manifest.Latest // the path of the file has the release
	for _, e := range p.entries {
		if len(e.files) == 0 || e.tag != wanted.tag || e.schedule != wanted.schedule || e.target != wanted.target {
			continue
		}
		if slices.Contains(e.files, ref) {
			return e, ""
		}
		if more := append(slices.Clone(e.files), ref); fitTogether(more) {
			e.files = more
			return e, ""
		}
	}
	wanted.files, wanted.name = []manifest.Reference{ref}, p.freeName("files")
	p.entries = append(p.entries, &wanted)
	return &wanted, ""
}

// fitTogether is true for files that can lie in one tree.
func fitTogether(refs []manifest.Reference) bool {
	paths := make([]string, len(refs))
	for i, ref := range refs {
		paths[i] = ref.Path()
	}
	return manifest.CheckTree(paths) == nil
}

// freeName returns a name that no entry and no view has.
func (p *plan) freeName(wanted string) string {
	for n := 1; ; n++ {
		name := wanted
		if n > 1 {
			name = fmt.Sprintf("%s_%d", wanted, n)
		}
		taken := slices.ContainsFunc(p.entries, func(e *entry) bool { return strings.EqualFold(e.name, name) }) ||
			slices.ContainsFunc(p.views, func(v *view) bool { return strings.EqualFold(v.name, name) })
		if !taken {
			return name
		}
	}
}

// plainName returns a name for an entry or a view that resembles a text.
func plainName(text string) string {
	name := strings.Map(func(r rune) rune {
		if r < 0x80 && (r == '_' || r == '-' || '0' <= r && r <= '9' || 'a' <= r|0x20 && r|0x20 <= 'z') {
			return r
		}
		return '_'
	}, text)
	name = strings.TrimLeft(name[:min(len(name), 60)], "-")
	return cmp.Or(name, "data")
}

// lookNotes says what to do instead of options with which the updater downloads nothing.
func lookNotes(set commandline.Options) (notes []string) {
	for _, o := range []struct{ name, note string }{
		{"generate_map", "-g: use `syncd map`"},
		{"index", "-i: use `syncd files`"},
		{"dry_run", "-d: use `syncd sync --dry-run`"},
	} {
		if set.Has(o.name) {
			notes = append(notes, o.note)
		}
	}
	return notes
}

// lookingLines names a line that downloads nothing, for the error of a text without others.
func (p *plan) lookingLines() string {
	if len(p.looking) == 0 {
		return ""
	}
	return fmt.Sprintf(" (%s only writes a map, lists or plans)", p.looking[0])
}

// optionNotes says what becomes of options that the configuration has no key for.
func optionNotes(c commandline.Command, set commandline.Options) []string {
	var notes []string
	for _, o := range []struct{ name, note string }{
		{"working_directory", "-w: not needed: syncd always downloads beside the served data"},
		{"force", "-f: not needed: syncd compares every digest; `syncd verify --repair` fetches damaged files again"},
		{"quiet", "-q: use `syncd sync --quiet`; the daemon writes a log"},
		{"callback", "-x: run its command by a hook: `hooks: [{on: [activated, rolled_back], command: [PROGRAM, ARGUMENT]}]`; it then runs after each new release only, see docs/events.md"},
	} {
		if set.Has(o.name) {
			notes = append(notes, o.note)
		}
	}
	switch release, isCorrected := releaseOf(set); {
	case release == "" && set.Has("release_version"):
		notes = append(notes, "-r: not a release that the text sets: the newest one is used, as by latest")
	case isCorrected:
		notes = append(notes, "-r: read as "+string(release))
	}
	if set.Has("tag") && c.Verb == "manifest" {
		notes = append(notes, "--tag: left out: the links of a manifest have their own tags")
	}
	return notes
}

var optionName = regexp.MustCompile(`^(-[A-Za-z]|--[a-z][a-z_-]{1,31})$`)

// unknownNotes names unknown options, unless they may be something else.
func (p *plan) unknownNotes(strange []string) []string {
	var notes []string
	for _, name := range strange {
		if optionName.MatchString(name) && !p.secrets.In(name) {
			notes = append(notes, name+": left out: the updater has no such option")
		} else if note := "left out: a word that is no option"; !slices.Contains(notes, note) {
			notes = append(notes, note)
		}
	}
	return notes
}
