package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"syncd/internal/config/document"
	"syncd/internal/disk/fsops"
)

const (
	variableName  = "SYNCD_CUSTOMER_ID"
	directoryName = "CREDENTIALS_DIRECTORY"
	updaterName   = "MD_LICENSE" // the provider's updater reads its licence from it
	fourWays      = "set just one of customer_id or customer_id_file in the config file, $" + variableName +
		", or the systemd credential customer_id ($" + directoryName + "/customer_id)"
)

// maxCredential limits a credential file in bytes; a Customer ID has a few dozen.
const maxCredential = 64 << 10

// Credential knows where to read the Customer ID. The zero value has none. It prints as
// REDACTED.
type Credential struct {
	inline *given
	file   *given // an absolute path; by mistake it may be the ID itself
	env    *Environment
	config string // the config file, for errors
	parent string // the key that holds customer_id, for errors
	reads  Changer

	isFurther bool // of a source behind another one

	known func() Secret // what Read has returned before; nil for nothing
}

// given is a key's text and its place. A function returns the text, because fmt does
// not call Format on private fields of other structs and would print a string there.
type given struct {
	text func() string
	at   document.Place
}

func giving(text string, at document.Place) *given {
	return &given{func() string { return text }, at}
}

// FixedCredential returns a credential with a known Customer ID.
func FixedCredential(id Secret) Credential {
	return Credential{inline: giving(id.Reveal(), document.Place{Key: "customer_id"})}
}

// Known returns the credential with the Customer ID that Read has returned. Read returns
// it from then on, also to a process that may no longer read the file.
func (c Credential) Known(id Secret) Credential {
	c.known = func() Secret { return id }
	return c
}

// ReadAgain returns the Customer ID that is there now.
func (c Credential) ReadAgain() (Secret, error) {
	c.known = nil
	return c.Read()
}

// Format writes REDACTED, whatever the verb.
func (Credential) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

// File is the path of customer_id_file, "" for none. By mistake it may hold the ID itself.
func (c Credential) File() string {
	if c.file == nil {
		return ""
	}
	return c.file.text()
}

// Read returns the Customer ID without surrounding white space. Each call reads it again, so
// that a changed file counts, until it is Known. Its error is a *document.Error that shows
// neither the ID nor a path from the configuration file.
func (c Credential) Read() (Secret, error) {
	if c.known != nil {
		return c.known(), nil
	}
	found := c.ways()
	switch len(found) {
	case 1:
		return c.read(found[0])
	case 0:
		if path, user := c.unitFile(); path != "" {
			if c.reads.Name == user { // systemd gives that user the ID all the same
				c.reads = Changer{}
			}
			return c.readUnitFile(path)
		}
		if c.isFurther {
			return "", c.error(document.Place{Key: c.parent}, "no Customer ID is configured", "write customer_id_file into this entry: those of the environment and of the systemd unit are for the first source only")
		}
		return "", c.error(document.Place{Key: c.parent}, "no Customer ID is configured", fourWays)
	}
	names := make([]string, len(found))
	for i, o := range found {
		names[i] = o.name
	}
	return "", c.error(document.Place{Key: c.parent}, "the Customer ID is set more than once: "+strings.Join(names, " and "), "keep just one")
}

// unitFile is the file from which the systemd unit loads the Customer ID for its user, "" for
// none.
func (c Credential) unitFile() (path, user string) {
	if c.env == nil || c.env.UnitCredential == nil {
		return "", ""
	}
	return c.env.UnitCredential(c.config)
}

// readUnitFile reads what systemd would give to the daemon, if this user may.
func (c Credential) readUnitFile(path string) (Secret, error) {
	id, err := c.read(way{"", document.Place{Key: path}, func() (string, error) { return c.readFile(path) }})
	var problem *document.Error
	switch {
	case errors.Is(err, fs.ErrPermission) && !c.reads.IsAnother():
		problem = c.error(document.Place{Key: c.parent}, "no Customer ID is configured for this shell, and this user cannot read "+path+", from which the systemd unit loads it",
			"run this as root, or put "+variableName+"=\"$(sudo cat "+path+")\" in front of the command")
	case errors.Is(err, fs.ErrNotExist):
		problem = c.error(document.Place{Key: c.parent}, "no Customer ID is configured", "write it to "+path+" with mode 600: the systemd unit loads it from there")
	default:
		return id, err
	}
	problem.Cause = errors.Unwrap(err)
	return "", problem
}

// fromUpdater is true when the variable of the provider's updater gives the Customer ID.
func (c Credential) fromUpdater() bool {
	found := c.ways()
	return len(found) == 1 && found[0].name == "$"+updaterName
}

// way is one of the ways to set a Customer ID.
type way struct {
	name string
	at   document.Place
	read func() (string, error)
}

// ways returns the ways that are in use now. The updater's variable counts only when
// there is no other way, so that it may stay set for the updater.
func (c Credential) ways() []way {
	found := c.ownWays()
	if c.env == nil || len(found) > 0 {
		return found
	}
	if value := c.env.get(updaterName); value != "" {
		return []way{variable(updaterName, value)}
	}
	return nil
}

// ownWays returns those of the four ways of syncd that are in use now.
func (c Credential) ownWays() []way {
	var found []way
	if c.inline != nil {
		found = append(found, way{"customer_id", c.inline.at, func() (string, error) { return c.inline.text(), nil }})
	}
	if c.file != nil {
		found = append(found, way{"customer_id_file", c.file.at, func() (string, error) { return c.readFile(c.file.text()) }})
	}
	if c.env == nil {
		return found
	}
	if value := c.env.get(variableName); value != "" {
		found = append(found, variable(variableName, value))
	}
	if dir := c.env.get(directoryName); dir != "" {
		path := filepath.Join(dir, "customer_id")
		name := "$" + directoryName + "/customer_id"
		// Skip the file only when it does not exist. After any other error, reading it
		// reports the cause.
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			own := Credential{} // root itself has named the folder
			found = append(found, way{name, document.Place{Key: name}, func() (string, error) { return own.readFile(path) }})
		}
	}
	return found
}

func variable(name, value string) way {
	return way{"$" + name, document.Place{Key: "$" + name}, func() (string, error) { return value, nil }}
}

func (c Credential) read(o way) (Secret, error) {
	if !o.at.IsInFile() {
		c.config = "" // the ID is not set in the file
	}
	text, err := o.read()
	if err != nil {
		return "", c.reads.unreadable(o.at, c.config, err)
	}
	if len(text) > maxCredential {
		return "", c.error(o.at, "is too large for a Customer ID", "check which file it names")
	}
	id, f := parseSecret(text)
	if f != nil {
		return "", c.error(o.at, f.Problem, f.Suggestion)
	}
	return id, nil
}

func (c Credential) error(at document.Place, problem, suggestion string) *document.Error {
	return at.Error(c.config, problem, suggestion)
}

// readFile reads a file, up to one byte more than maxCredential.
func (c Credential) readFile(path string) (string, error) {
	data, err := c.reads.Read(path, maxCredential)
	if errors.Is(err, fsops.ErrTooLarge) {
		err = nil
	}
	return string(data), err
}

func (d *decoder) credentialKeys(c *Credential, t document.Table) document.Table {
	t["customer_id"] = func(_ *document.Decoder, path string, n *document.Node) {
		// Use the text as written: 0123, 1e5, true and null are valid Customer IDs.
		if n.Kind != document.ScalarKind {
			d.Fail(path, "must be one value", "write the Customer ID in quotes")
			return
		}
		id, f := parseSecret(n.Text)
		if f != nil {
			d.Fail(path, f.Problem, f.Suggestion)
			return
		}
		c.inline = giving(id.Reveal(), d.Place(path))
		d.secrets = append(d.secrets, d.Place(path))
	}
	t["customer_id_file"] = func(_ *document.Decoder, path string, n *document.Node) {
		var file string
		document.Scalar(&file, d.besideConfig)(d.Decoder, path, n)
		if file != "" {
			c.file = giving(file, d.Place(path))
		}
	}
	return t
}

// checkCredential refuses a Customer ID that the file sets twice.
func (d *decoder) checkCredential(parent string, c *Credential) {
	c.config, c.parent, c.reads = d.File, parent, d.env.changer
	if c.inline != nil && c.file != nil {
		d.Fail(parent+".customer_id_file", "customer_id is set too", "keep just one of the two")
	}
}
