package service

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"syncd/internal/clients/wire"
)

// Arguments adds name=value arguments to the members of a body, which may be
// nil. Names are those of the method's form, in any case, or else those of the other
// form. A name within another
// input has a dot (Includes.Zips); its last part is enough where only one input
// ends so. A name given again begins the next item of its list.
//
// extra holds the query parameters that are not described, for operations that
// are Open. An error is an *InputError that lists all problems.
func (o *Operation) Arguments(method, prefix string, body wire.Object, args []string) (filled wire.Object, extra url.Values, err error) {
	c := &checker{op: o}
	extra = url.Values{}
	if body != nil {
		filled = canonical(o.Fields, body, prefix).(wire.Object)
	}
	for i, arg := range args {
		name, value, ok := strings.Cut(arg, "=")
		if !ok || name == "" { // the argument is not shown, because it could be the Customer ID
			c.fail("argument %d is not name=value", i+1)
			continue
		}
		slot, err := o.slot(name, method, prefix)
		switch {
		case errors.Is(err, errUnknown) && o.Open && method == "GET":
			extra.Add(name, value)
			continue
		case err != nil:
			c.fail("%v", err)
			continue
		}
		if err := place(&filled, slot, value); err != nil {
			c.fail("%s %v", name, err)
		}
	}
	return filled, extra, c.err()
}

// slot finds the input that a name stands for.
func (o *Operation) slot(name, method, prefix string) (Slot, error) {
	if err := o.reserved(name); err != nil {
		return nil, err
	}
	var byEnd []Slot
	wanted := wire.WithPrefix(name, prefix)
	for _, slot := range o.Slots(method) {
		full := slot.NameIn(method, prefix)
		if strings.EqualFold(wanted, full) {
			return slot, nil
		}
		if strings.HasSuffix(strings.ToLower(full), "."+strings.ToLower(wanted)) {
			byEnd = append(byEnd, slot)
		}
	}
	found := byEnd
	if len(found) == 0 {
		found = o.otherForm(name, method, prefix)
	}
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("%w %s: %s", errUnknown, name, o.known(method, prefix))
	case 1:
		return found[0], nil
	}
	return nil, fmt.Errorf("%s is ambiguous: write %s", name, joinNames(found, method, prefix, " or "))
}

// Find returns the input that a name stands for, or nil for a name that callers do not give
// as an argument. Its error says that the name is ambiguous.
func (o *Operation) Find(name, method, prefix string) (Slot, error) {
	slot, err := o.slot(name, method, prefix)
	if errors.Is(err, errUnknown) || errors.Is(err, errReserved) {
		return nil, nil
	}
	return slot, err
}

// errReserved is the kind of a name that is not given as an argument.
var errReserved = errors.New("leave it out")

// reserved returns an error for a name that callers do not give as an argument.
func (o *Operation) reserved(name string) error {
	switch strings.ToLower(name) {
	case "id", "customerid":
		return fmt.Errorf("the Customer ID is filled in from the configuration: %w", errReserved)
	case "format":
		return fmt.Errorf("the format is not an input: use --format, and %w", errReserved)
	case "callback":
		return fmt.Errorf("callback needs --jsonp, or %w", errReserved)
	}
	for _, in := range o.FilledIn() {
		if strings.EqualFold(name, in.Name) {
			return fmt.Errorf("%s is filled in (%s): %w", in.Name, in.Kind.Name, errReserved)
		}
	}
	return nil
}

// errUnknown is the error for a name that is not described.
var errUnknown = errors.New("unknown input")

// maxNamed bounds the names that a message lists.
const maxNamed = 20

// known names the inputs of an operation, or says where to find them.
func (o *Operation) known(method, prefix string) string {
	slots := o.topSlots(method)
	if len(slots) > maxNamed {
		return "--help lists the known inputs"
	}
	return fmt.Sprintf("with %s it takes %s", method, joinNames(slots, method, prefix, ", "))
}

// topSlots leaves out the slots below two levels, which are too many for a message.
func (o *Operation) topSlots(method string) []Slot {
	return slices.DeleteFunc(o.Slots(method), func(s Slot) bool { return method != "GET" && len(s) > 2 })
}

func joinNames(slots []Slot, method, prefix, between string) string {
	names := make([]string, len(slots))
	for i, s := range slots {
		names[i] = s.NameIn(method, prefix)
	}
	return strings.Join(names, between)
}

// otherForm returns the inputs of this method's form that have that name in the other
// form. Callers can keep a name when they change the method.
func (o *Operation) otherForm(name, method, prefix string) []Slot {
	other := map[string]string{"GET": "POST", "POST": "GET"}[method]
	var found []Slot
	for _, slot := range o.Slots(method) {
		in := slot.Input()
		names := []string{slot.NameIn(other, prefix), wire.WithPrefix(in.Name, prefix), in.Query}
		if slices.ContainsFunc(names, func(known string) bool { return strings.EqualFold(known, name) }) {
			found = append(found, slot)
		}
	}
	return found
}

// canonical gives the members of a body the names of the descriptions, so that
// an argument finds the member of the same name.
func canonical(f Fields, v wire.Value, prefix string) wire.Value {
	switch v := v.(type) {
	case []wire.Value:
		list := slices.Clone(v)
		for i := range list {
			list[i] = canonical(f, list[i], prefix)
		}
		return list
	case wire.Object:
		o := slices.Clone(v)
		for i := range o {
			for _, in := range f.Inputs {
				if strings.EqualFold(wire.WithPrefix(o[i].Name, prefix), wire.WithPrefix(in.Name, prefix)) {
					o[i] = wire.Member{Name: in.Name, Value: canonical(in.Fields, o[i].Value, prefix)}
				}
			}
		}
		return o
	}
	return v
}
