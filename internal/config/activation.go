package config

import (
	"fmt"
	"slices"
	"time"

	"syncd/internal/config/document"
	"syncd/internal/config/schedule"
	"syncd/internal/config/value"
	"syncd/internal/golive/gate"
	"syncd/internal/manifest"
)

// Activation says when a new revision goes live. The zero value is at once.
type Activation struct {
	Manual bool   // by `syncd activate` only
	Window Window // unless zero: only while it is open
}

// Window is a time that recurs, in which new revisions may go live. The zero value never
// opens.
type Window struct {
	Opens schedule.Schedule
	For   time.Duration
}

// IsZero is true for no window.
func (w Window) IsZero() bool { return w.For == 0 }

// Contains is true while the window is open.
func (w Window) Contains(t time.Time) bool {
	opened := w.Opens.Next(t.Add(-w.For))
	return !opened.IsZero() && !opened.After(t)
}

// Next returns when the window opens after t.
func (w Window) Next(t time.Time) time.Time { return w.Opens.Next(t) }

// Gate is a command that decides whether a revision may go live. Without Command there
// is none.
type Gate struct {
	Command []string
	Timeout time.Duration
	Compare bool    // the outputs for the served and the new tree are compared
	Changed float64 // share of lines that may differ then, 0 to 1
}

// Group is a set of manifests that go live together.
type Group struct {
	Name      string
	Manifests []string
}

// activation is the setter of `activate`.
func activation(to *Activation) document.Setter {
	return func(d *document.Decoder, path string, n *document.Node) {
		const next = `use immediately, manual, or {window: "0 2 * * SUN", for: 2h}`
		switch {
		case n.Kind == document.MappingKind:
			*to = Activation{}
			d.Mapping(path, n, document.Table{
				"window": document.Scalar(&to.Window.Opens, parseWindow),
				"for":    document.Scalar(&to.Window.For, value.PositiveDuration),
			})
			for _, key := range []string{".window", ".for"} {
				if !d.IsSet(path + key) {
					d.Fail(path+key, "is missing", next)
				}
			}
		case n.Kind == document.ScalarKind && n.Text == "immediately":
			*to = Activation{}
		case n.Kind == document.ScalarKind && n.Text == "manual":
			*to = Activation{Manual: true}
		default:
			d.Fail(path, "is neither immediately, manual nor a window", next)
		}
	}
}

// parseWindow accepts a schedule with times of day. An @every schedule has no fixed
// times, so after a restart the window would be another one.
func parseWindow(text string) (schedule.Schedule, *document.Fault) {
	s, f := schedule.Value(text)
	if f == nil && s.Interval() > 0 {
		return schedule.Schedule{}, document.Refuse("@every has no fixed times", `use cron's five fields such as "0 2 * * SUN"`)
	}
	return s, f
}

// defaultGateTimeout is long enough for a check of many files.
const defaultGateTimeout = 10 * time.Minute

// gateOf is the setter of `gate`. None means no gate, also where the general one is set.
func gateOf(to *Gate) document.Setter {
	return func(d *document.Decoder, path string, n *document.Node) {
		if n.Null || n.Kind == document.ScalarKind && n.Text == "none" {
			*to = Gate{}
			return
		}
		if n.Kind != document.MappingKind {
			d.Fail(path, "must be a mapping", `write {command: ["/usr/local/bin/check"], timeout: 10m}, or none`)
			return
		}
		*to = Gate{Timeout: defaultGateTimeout}
		d.Mapping(path, n, document.Table{
			"command": document.List(&to.Command, value.Text),
			"timeout": document.Scalar(&to.Timeout, value.PositiveDuration),
			"compare": func(d *document.Decoder, path string, n *document.Node) {
				to.Compare = true
				document.Keys(document.Table{"max_changed": document.Scalar(&to.Changed, value.Percent)})(d, path, n)
				if !d.IsSet(path + ".max_changed") {
					d.Fail(path+".max_changed", "is missing", `write the share of lines that may differ, such as "2%"`)
				}
			},
		})
		if len(to.Command) == 0 {
			d.Fail(path+".command", "is missing or empty", `write the program and its arguments as a list: ["/usr/local/bin/check", "--all"]`)
			return
		}
		checkArguments(d, to.Command, path+".command")
	}
}

// checkVariables refuses two views whose trees a gate would get by the same variable.
func checkVariables(d *document.Decoder, c *Config) {
	for _, m := range c.Manifests {
		if len(m.Gate.Command) == 0 {
			continue
		}
		first := map[string]string{}
		for i, v := range c.Views {
			if !slices.Contains(v.Manifests, m.Name) || v.Name == "" {
				continue
			}
			variable, path := gate.Variable(v.Name), document.Index("views", i)
			if other, found := first[variable]; found && d.Valid(path+".name") {
				d.Fail(path+".name", "a gate finds "+other+" by the same variable, "+variable, "give the views names that differ in letters or digits")
				continue
			}
			first[variable] = path
		}
	}
}

func decodeGroups(d *document.Decoder, n *document.Node, c *Config) []Group {
	if n == nil || n.Null {
		return nil
	}
	if n.Kind != document.ListKind {
		d.Fail("groups", "must be a list", "write each group as {name: NAME, manifests: [FIRST, SECOND]}")
		return nil
	}
	list := make([]Group, len(n.Items))
	taken := map[string]string{}
	for i, item := range n.Items {
		decodeGroup(d, &list[i], document.Index("groups", i), item, c)
		for j, name := range list[i].Manifests {
			at := document.Index(document.Index("groups", i)+".manifests", j)
			if other, found := taken[name]; found && name != "" {
				d.Fail(at, "is in "+other+" already", "a manifest belongs to one group at most, and is listed once")
			}
			taken[name] = document.Index("groups", i)
		}
	}
	return list
}

func decodeGroup(d *document.Decoder, g *Group, path string, n *document.Node, c *Config) {
	d.SetPosition(path, n.At)
	if n.Kind != document.MappingKind {
		d.Fail(path, "must be a mapping", "write {name: NAME, manifests: [FIRST, SECOND]}")
		return
	}
	d.Mapping(path, n, document.Table{"name": document.Scalar(&g.Name, value.Name), "manifests": document.List(&g.Manifests, value.Name)})
	if !d.IsSet(path + ".name") {
		d.Fail(path+".name", "is missing", "write a name for the group, for `syncd activate`")
	}
	if len(g.Manifests) == 0 && d.Valid(path+".manifests") {
		d.Fail(path+".manifests", "is missing or empty", "list the manifests that go live together")
	}
	for i, name := range g.Manifests {
		if name != "" && !c.Has(name) {
			d.Fail(document.Index(path+".manifests", i), "is not in manifests", "write the name of an entry of manifests, in the same case")
		}
	}
}

// ParseRelease parses a release or an alias. Its error does not quote the text.
func ParseRelease(text string) (manifest.Release, error) {
	release, f := value.Release(text)
	if f != nil {
		return "", document.Place{}.Error("", f.Problem, f.Suggestion)
	}
	return release, nil
}

// ParseLongDuration parses a duration in Go's form, or whole days or years. Its error does
// not quote the text.
func ParseLongDuration(text string) (time.Duration, error) {
	d, f := value.LongDuration(text)
	if f != nil {
		return 0, document.Place{}.Error("", f.Problem, f.Suggestion)
	}
	return d, nil
}

// ParseRate parses bytes per second with a unit, such as 50MiB. "" and 0 mean no limit.
// Its error quotes the text.
func ParseRate(text string) (int64, error) {
	n, f := value.Rate(text)
	if f != nil {
		return 0, fmt.Errorf("%q %s: use a form such as 50MiB, or 0 for no limit", text, f.Problem)
	}
	return n, nil
}
