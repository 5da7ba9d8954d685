package unitfile

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coreos/go-systemd/v22/unit"

	"syncd/internal/disk/fsops"
)

// Unit is one service.
type Unit struct {
	Path     string              // of the unit file
	IsMasked bool                // systemctl mask
	service  map[string][]string // values of the keys in [Service], in order
	timer    map[string][]string // those in [Timer]
}

// Dirs are the folders in which systemd looks for units, the most important first.
func Dirs(getenv func(string) string) []string {
	if path := getenv("SYSTEMD_UNIT_PATH"); path != "" {
		return filepath.SplitList(path)
	}
	return []string{"/etc/systemd/system", "/run/systemd/system", "/usr/local/lib/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system"}
}

// Find reads a unit. The error is fs.ErrNotExist if there is none.
func Find(name string, dirs []string) (*Unit, error) {
	for _, dir := range dirs {
		path := filepath.Join(dir, name)
		if target, err := filepath.EvalSymlinks(path); err == nil && target == "/dev/null" {
			return &Unit{Path: path, IsMasked: true}, nil
		}
		u := &Unit{Path: path, service: map[string][]string{}}
		err := u.read(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		for _, dropIn := range dropIns(name, dirs) {
			err = errors.Join(err, u.read(dropIn))
		}
		return u, err
	}
	return nil, fmt.Errorf("unit %s: %w", name, fs.ErrNotExist)
}

// dropIns are sorted by name. Of two with the same name, that of the more important folder
// counts.
func dropIns(name string, dirs []string) []string {
	found := map[string]string{}
	for _, dir := range slices.Backward(dirs) {
		paths, _ := filepath.Glob(filepath.Join(dir, name+".d", "*.conf")) // the pattern is fixed
		for _, path := range paths {
			found[filepath.Base(path)] = path
		}
	}
	var paths []string
	for _, base := range slices.Sorted(maps.Keys(found)) {
		paths = append(paths, found[base])
	}
	return paths
}

// Parse reads the text of one unit.
func Parse(text []byte) (*Unit, error) {
	u := &Unit{service: map[string][]string{}}
	return u, u.add(text)
}

func (u *Unit) read(path string) error {
	data, _, err := fsops.ReadRegular(path, maxFile)
	if err != nil {
		return err
	}
	if err := u.add(data); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// add reads the text of a unit file or drop-in.
func (u *Unit) add(text []byte) error {
	options, err := unit.DeserializeOptions(bytes.NewReader(text))
	if err != nil {
		return err
	}
	for _, o := range options {
		var section map[string][]string
		switch o.Section {
		case "Service":
			section = u.service
		case "Timer":
			if u.timer == nil {
				u.timer = map[string][]string{}
			}
			section = u.timer
		default:
			continue
		}
		if o.Value == "" {
			delete(section, o.Name) // an empty value takes back the earlier ones
			continue
		}
		section[o.Name] = append(section[o.Name], strings.ReplaceAll(o.Value, "\\\n", " "))
	}
	return nil
}

// IsTimer is true for a unit with a section [Timer].
func (u *Unit) IsTimer() bool { return u.timer != nil }

// Timers are the values of a key in [Timer].
func (u *Unit) Timers(key string) []string { return u.timer[key] }

// Values are the values of a key in [Service].
func (u *Unit) Values(key string) []string { return u.service[key] }

// Value is the last value of a key, "" for none.
func (u *Unit) Value(key string) string {
	if values := u.service[key]; len(values) > 0 {
		return values[len(values)-1]
	}
	return ""
}

// IsOn is true for a key that is yes, or another value that is not no.
func (u *Unit) IsOn(key string) bool {
	return !slices.Contains([]string{"", "no", "false", "off", "0"}, strings.ToLower(u.Value(key)))
}

// Words are the words of all values of a key.
func (u *Unit) Words(key string) (all []string) {
	for _, value := range u.service[key] {
		all = append(all, words(value)...)
	}
	return all
}

// Command is the program with its arguments.
func (u *Unit) Command() []string {
	commands := u.Commands("ExecStart")
	if len(commands) == 0 {
		return nil
	}
	return commands[len(commands)-1]
}

// Commands are the programs that a key such as ExecStart starts, with their arguments.
func (u *Unit) Commands(key string) (all [][]string) {
	for _, value := range u.service[key] {
		if command := words(value); len(command) > 0 {
			command[0] = strings.TrimLeft(command[0], "@-:+!|")
			all = append(all, command)
		}
	}
	return all
}

// words splits a value at white space, outside of quotes. It goes by bytes, because a path need
// not be UTF-8.
func words(value string) (all []string) {
	var word []byte
	var quote byte
	begun, escaped := false, false
	for _, c := range []byte(value) {
		switch {
		case escaped:
			word = append(word, c)
			escaped = false
		case c == '\\':
			escaped, begun = true, true
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote, begun = c, true
		case quote == 0 && (c == ' ' || c == '\t'):
			if begun {
				all = append(all, string(word))
			}
			word = word[:0]
			begun = false
		default:
			word = append(word, c)
			begun = true
		}
	}
	if begun {
		all = append(all, string(word))
	}
	return all
}
