package commandline

import "strings"

// An option of the updater. Every verb has them as here; -p is --path for verify.
type option struct {
	short byte
	long  string
	flag  bool // it has no value
}

var optionTable = []option{
	{'p', "product", false}, {'p', "path", false}, {'n', "filename", false}, {'y', "type", false}, {'o', "os", false},
	{'c', "compiler", false}, {'a', "architecture", false}, {'r', "release_version", false}, {'l', "license", false},
	{'t', "target_directory", false}, {'w', "working_directory", false}, {'m', "map", false}, {'x', "callback", false},
	{0, "tag", false}, {'g', "generate_map", true}, {'i', "index", true}, {'d', "dry_run", true}, {'f', "force", true}, {'q', "quiet", true},
}

// Options are the options of a command line, by their long names.
type Options map[string]Word

// Has is true for an option that is set.
func (o Options) Has(name string) bool { _, set := o[name]; return set }

// Get returns the value of an option, an empty unknown word when it is not set.
func (o Options) Get(name string) Word { return o[name] }

// parseOptions reads options in both forms. strange has the names of unknown options, and
// "" for each word that is no option.
func parseOptions(words []Word) (set Options, strange []string) {
	p := &optionParser{set: Options{}, rest: words}
	for len(p.rest) > 0 {
		w := p.rest[0]
		p.rest = p.rest[1:]
		switch {
		case strings.HasPrefix(w.Text, "--") && len(w.Text) > 2:
			p.long(w)
		case strings.HasPrefix(w.Text, "-") && len(w.Text) > 1:
			p.short(w)
		default:
			p.strange = append(p.strange, "")
		}
	}
	return p.set, p.strange
}

type optionParser struct {
	set     Options
	rest    []Word // not read yet
	strange []string
}

func (p *optionParser) long(w Word) {
	name, value, given := strings.Cut(w.Text[2:], "=")
	for _, o := range optionTable {
		switch {
		case !strings.EqualFold(o.long, name) && !(o.long == "license" && strings.EqualFold(name, "licence")):
			continue
		case o.flag:
			p.put(o, Word{Known: true})
		case given:
			p.put(o, Word{value, w.Known})
		default:
			p.put(o, p.value(o))
		}
		return
	}
	p.unknown("--"+name, given)
}

// short reads a word such as -pNAME, -p=NAME, -p or -fq.
func (p *optionParser) short(w Word) {
	for letters := w.Text[1:]; letters != ""; letters = letters[1:] {
		o, found := byLetter(letters[0])
		switch {
		case !found:
			p.unknown("-"+letters[:1], len(letters) > 1)
			return
		case o.flag:
			p.put(o, Word{Known: true})
		case len(letters) > 1:
			p.put(o, Word{strings.TrimPrefix(letters[1:], "="), w.Known})
			return
		default:
			p.put(o, p.value(o))
			return
		}
	}
}

func byLetter(letter byte) (option, bool) {
	for _, o := range optionTable {
		if o.short == letter || o.short == 'l' && letter == 'L' {
			return o, true
		}
	}
	return option{}, false
}

// put keeps the first value of an option. The path of verify counts as a product.
func (p *optionParser) put(o option, value Word) {
	if o.long == "path" {
		o.long = "product"
	}
	if !p.set.Has(o.long) {
		p.set[o.long] = value
	}
}

// value returns the next word. A licence may begin with a dash, other values do not.
func (p *optionParser) value(o option) Word {
	if len(p.rest) == 0 || strings.HasPrefix(p.rest[0].Text, "-") && o.long != "license" {
		return Word{}
	}
	w := p.rest[0]
	p.rest = p.rest[1:]
	return w
}

// unknown leaves an unknown option out, with the value that probably belongs to it.
func (p *optionParser) unknown(name string, given bool) {
	p.strange = append(p.strange, name)
	if !given && len(p.rest) > 0 && p.rest[0].Text != "" && !strings.HasPrefix(p.rest[0].Text, "-") {
		p.rest = p.rest[1:]
	}
}
