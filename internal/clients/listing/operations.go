package listing

import (
	"math"
	"slices"
	"strings"

	"syncd/internal/clients/service"
)

// The operations of each group.
const (
	doCount  = "doCount"
	getCount = "getCount"
	doLookup = "doLookup"
)

// Operations describes the operations of the list-retrieval service: three for
// each of the six groups. The groups differ only in their filters and columns.
// docs/wire/list.md, section 2, has the names.
func Operations() []*service.Operation { return slices.Clone(operations) }

var operations = describe()

func describe() []*service.Operation {
	var all []*service.Operation
	for _, group := range Groups() {
		for _, name := range []string{doCount, getCount, doLookup} {
			all = append(all, &service.Operation{
				Name: string(group) + "/" + name, Summary: summary(group, name), Note: notes[name],
				Methods: service.PostOnly, Formats: []string{service.FormatJSON}, Success: []service.Code{"LS01"},
				Fields: service.Fields{Inputs: inputs(group, name)},
			})
		}
	}
	return all
}

func summary(group Group, name string) string {
	switch name {
	case doCount:
		return "Count " + records[group]
	case getCount:
		return "Count " + records[group] + " and show 10"
	}
	return "List " + records[group] + ", 100 a page"
}

// notes are the further help of each operation.
var notes = map[string]string{
	doCount:  "Counting is free of charge.",
	getCount: "A sample counts against the package.",
	doLookup: "A page counts against the package and can be slow: narrow the list with doCount first.",
}

// operation returns a description, or nil for an unknown group.
func operation(group Group, name string) *service.Operation {
	for _, op := range operations {
		if op.Name == string(group)+"/"+name {
			return op
		}
	}
	return nil
}

// inputs returns the members of a body in their order.
func inputs(group Group, name string) []service.Input {
	minimum := []service.Set{{"Zips"}, {"Cities"}, {"Radius"}, {"ShapeWKTs"}}
	if group == NewMovers {
		minimum = append(minimum, service.Set{"CensusKey"})
	}
	all := []service.Input{
		{Name: "CustomerID", Kind: service.Identity},
		{
			Name: "Includes", Kind: service.Object, Required: true, Help: "filters that must hold",
			Fields: service.Fields{Inputs: filterInputs(group, true), AnyOf: minimum},
		},
		{
			Name: "Excludes", Kind: service.Object, Help: "filters that must not hold",
			Fields: service.Fields{Inputs: filterInputs(group, false)},
		},
	}
	if name != doCount || group == NewHomeowners {
		all = append(all, service.Input{
			Name: "Columns", Kind: knowing(service.Texts, columns[group]...), Required: name != doCount,
			Help: "columns to return; unknown names are sent too",
		})
	}
	if name != doCount {
		all = append(all, orderBy(group))
	}
	if name == doLookup {
		all = append(all, pagination)
	}
	return all
}

// knowing adds known values to a kind. Others are allowed.
func knowing(kind service.Kind, values ...string) service.Kind {
	kind.Values = values
	return kind
}

func orderBy(group Group) service.Input {
	return service.Input{
		Name: "OrderBy", Kind: service.Objects(0), Help: "columns to sort by, most important first",
		Fields: service.Fields{Inputs: []service.Input{
			{Name: "column", Kind: knowing(service.Text, columns[group]...), Required: true},
			{Name: "sortorder", Kind: service.OneOf("ASC", "DESC"), Default: "ASC", Help: "ASC by default"},
		}},
	}
}

var pagination = service.Input{
	Name: "Pagination", Kind: service.Object,
	Fields: service.Fields{Inputs: []service.Input{{
		Name: "Page", Kind: service.Numeric(service.Whole(1, math.MaxInt32)), Default: "1", Help: "from 1, the default",
	}}},
}

// filterInputs returns a group's filters. Excludes has no areas.
func filterInputs(group Group, including bool) []service.Input {
	var all []service.Input
	for _, filter := range filters[group] {
		name, shape, _ := strings.Cut(filter, " ")
		if including || name != "Radius" && name != "ShapeWKTs" {
			in := shapes[shape]
			in.Name = name
			all = append(all, in)
		}
	}
	return all
}

// shapes are the inputs for the shapes that filters.txt names.
var shapes = map[string]service.Input{
	"":          {Kind: service.Texts},
	"booleans":  {Kind: service.Booleans},
	"integers":  {Kind: service.Integers},
	"boolean":   {Kind: service.Boolean},
	"areas":     {Kind: service.Texts, Help: "areas: POLYGON((longitude latitude, ...)), holes allowed"},
	"residence": {Kind: knowing(service.Texts, "R", "B", "U"), Help: "R residence, B business, U unknown"},
	"zips":      object(service.Objects(0), "ZIP codes", required("Zip", service.Text), optional("Plus4"), optional("CarrierRoute")),
	"cities":    object(service.Objects(0), "cities", required("City", service.Text), required("State", service.Text)),
	"streets":   object(service.Objects(0), "streets", optional("ZipCode"), optional("Street")),
	"circle": object(service.Object, "circle around a point, Distance in miles",
		required("Latitude", service.Numeric(service.Latitude)), required("Longitude", service.Numeric(service.Longitude)),
		required("Distance", service.Numeric(service.Decimals(0, 12500)))), // half of the earth's circumference
	"range":     object(service.Object, "from minimum to maximum; either may be left out", bound("minimum"), bound("maximum")),
	"textrange": object(service.Object, "from minimum to maximum", optional("minimum"), optional("maximum")),
	"dates":     object(service.Object, "first and last day: 2023-01-01, for moves 2023/01/01", optional("StartDate"), optional("EndDate")),
}

func object(kind service.Kind, means string, members ...service.Input) service.Input {
	return service.Input{Kind: kind, Help: means, Fields: service.Fields{Inputs: members}}
}

func required(name string, kind service.Kind) service.Input {
	return service.Input{Name: name, Kind: kind, Required: true}
}

func optional(name string) service.Input { return service.Input{Name: name, Kind: service.Text} }

func bound(name string) service.Input { return service.Input{Name: name, Kind: service.Integer} }
