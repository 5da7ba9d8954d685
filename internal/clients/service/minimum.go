package service

import (
	"slices"
	"strings"

	"syncd/internal/clients/wire"
)

// anyOf checks the minimum inputs.
func (c *checker) anyOf(f Fields, o wire.Object, within Slot) {
	if len(f.AnyOf) == 0 {
		return
	}
	rule := "needs any one of"
	for _, set := range f.AnyOf {
		switch {
		case !c.holds(f, set, o):
			continue
		case !f.Exclusive || !f.mixes(set, o):
			return
		}
		rule = "takes only one of"
	}
	where := ""
	if len(within) > 0 && c.method != "GET" {
		where = within.NameIn(c.method, c.prefix) + " "
	}
	c.fail("%s%s: %s", where, rule, strings.Join(f.SetNames(c.method, c.prefix), ", "))
}

// holds is true when every input of a set has a value.
func (c *checker) holds(f Fields, set Set, o wire.Object) bool {
	return !slices.ContainsFunc(set, func(name string) bool { return o.Find(name) < 0 || c.method == "GET" && f.query(name) == "" })
}

// mixes is true when an input of another set than the chosen one is given too.
func (f Fields) mixes(chosen Set, o wire.Object) bool {
	for _, set := range f.AnyOf {
		for _, name := range set {
			if o.Find(name) >= 0 && !slices.Contains(chosen, name) {
				return true
			}
		}
	}
	return false
}

// query returns the GET parameter of the input with that name.
func (f Fields) query(name string) string {
	for _, in := range f.Inputs {
		if in.Name == name {
			return in.Query
		}
	}
	return ""
}

// SetNames returns the minimum inputs, each set as its names joined by "+". Sets
// that the method cannot carry are left out.
func (f Fields) SetNames(method, prefix string) []string {
	var sets []string
	for _, set := range f.AnyOf {
		names := make([]string, len(set))
		carried := true
		for i, name := range set {
			names[i] = wire.WithPrefix(name, prefix)
			if method == "GET" {
				names[i] = f.query(name)
				carried = carried && names[i] != ""
			}
		}
		if carried {
			sets = append(sets, strings.Join(names, "+"))
		}
	}
	return sets
}

// aligned checks that two lists of pairs have the same keys. An order is not
// required. docs/wire/contribution.md, section 2: ChangeTo has the keys of
// Current, and an empty value leaves a value unchanged.
func (c *checker) aligned(f Fields, o wire.Object) {
	if len(f.Aligned) != 2 || o.Find(f.Aligned[0]) < 0 || o.Find(f.Aligned[1]) < 0 || len(c.problems) > 0 {
		return // a list is missing or wrong, which is reported already
	}
	lists := [2][]string{keysOf(o.Get(f.Aligned[0])), keysOf(o.Get(f.Aligned[1]))}
	var differences []string
	for i, keys := range lists {
		if only := without(keys, lists[1-i]); len(only) > 0 {
			differences = append(differences, "only "+f.Aligned[i]+" has "+strings.Join(only, ", "))
		}
	}
	if len(differences) > 0 {
		c.fail("%s must have the same keys: %s", strings.Join(f.Aligned, " and "), strings.Join(differences, ", and "))
	}
}

func keysOf(v wire.Value) []string {
	var keys []string
	for _, item := range listOf(v) {
		pair, _ := item.(wire.Object)
		keys = append(keys, pair.Text("Key"))
	}
	return keys
}

// without returns the keys that are missing in others. Each key in others accounts
// for one equal key only.
func without(keys, others []string) []string {
	others = slices.Clone(others)
	var only []string
	for _, key := range keys {
		at := slices.IndexFunc(others, func(other string) bool { return strings.EqualFold(other, key) })
		if at < 0 {
			only = append(only, key)
			continue
		}
		others = slices.Delete(others, at, at+1)
	}
	return only
}
