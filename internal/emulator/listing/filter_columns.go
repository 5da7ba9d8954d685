package listing

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// filterColumns are the columns of the filters that are named otherwise.
var filterColumns = map[string]string{
	"AddressLines": "AddressLine", "Address": "AddressLine", "Street": "AddressStreetName",
	"CountyName": "County", "PreviousCountyName": "PreviousCounty",
}

// column returns the column that a filter is about, nil for none.
func (g *group) column(filter string) column {
	if name, ok := filterColumns[filter]; ok {
		filter = name
	}
	return g.columns[strings.ToLower(filter)]
}

// textFilter compares the column's text without case.
func (g *group) textFilter(name string) filter { return listFilter[string](g, name) }

// listFilter takes an array. A record passes when an item is the value of the column.
func listFilter[T string | bool | int](g *group, name string) filter {
	return reading(func(wanted []T) (predicate, error) {
		column := g.column(name)
		if column == nil {
			return nil, nil
		}
		return func(r row) bool {
			own := columnText(column(r))
			return slices.ContainsFunc(wanted, func(w T) bool { return strings.EqualFold(fmt.Sprint(w), own) })
		}, nil
	})
}

func columnText(v any) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}

// ignored reads a filter on data that the gazetteer does not have: it checks the type
// of the value and filters nothing.
func ignored[T any](raw json.RawMessage) (predicate, error) {
	return nil, json.Unmarshal(raw, new(T))
}

// numberRange includes both ends. An end that is not given is open.
type numberRange struct{ Minimum, Maximum *int }

func (r numberRange) holds(n int) bool {
	return (r.Minimum == nil || n >= *r.Minimum) && (r.Maximum == nil || n <= *r.Maximum)
}

// ageFilter is about the people of one gender, "" for all.
func ageFilter(gender string) filter {
	return reading(func(ages numberRange) (predicate, error) {
		return func(r row) bool {
			p := r.person
			return p != nil && ages.holds(ageOf(p)) && (gender == "" || gender[:1] == p.Gender)
		}, nil
	})
}

func (g *group) numberFilter(name string) filter {
	return reading(func(wanted numberRange) (predicate, error) {
		column := g.column(name)
		return func(r row) bool {
			n, ok := column(r).(int)
			return ok && wanted.holds(n)
		}, nil
	})
}

func (g *group) yearFilter(name string) filter {
	return reading(func(wanted struct{ Minimum, Maximum string }) (predicate, error) {
		column := g.column(name)
		return func(r row) bool {
			year := columnText(column(r))
			return year >= wanted.Minimum && (wanted.Maximum == "" || year <= wanted.Maximum)
		}, nil
	})
}

func (g *group) dateFilter(name string) filter {
	return reading(func(wanted struct{ StartDate, EndDate string }) (predicate, error) {
		start, err := parseDay(wanted.StartDate)
		if err != nil {
			return nil, err
		}
		end, err := parseDay(wanted.EndDate)
		if err != nil {
			return nil, err
		}
		column := g.column(name)
		if column == nil {
			return nil, nil
		}
		return func(r row) bool {
			date, _, _ := strings.Cut(columnText(column(r)), "T")
			return date >= start && (end == "" || date <= end)
		}, nil
	})
}

// parseDay reads a date with dashes or slashes, and returns it with dashes. ""
// stays "".
func parseDay(text string) (string, error) {
	day := strings.ReplaceAll(text, "/", "-")
	if _, err := time.Parse(time.DateOnly, day); err != nil && day != "" {
		return "", fmt.Errorf("%q is not a date", text)
	}
	return day, nil
}
