package gazetteer

import (
	"embed"
	"encoding/csv"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// world holds a table for each kind of thing. The columns have the names of fields; people
// are named by their identity key and addresses by their MAK. Parcels and deeds belong to
// the address of their MAK, deeds with the newest first.
//
//go:embed world/*.csv
var world embed.FS

// Year is the present year of the world. Ages refer to it.
const Year = 2026

func readWorld() *World {
	t := tables{map[string]*Person{}, map[string]*Address{}}
	for _, p := range read[Person](t, "people") {
		p.Email = strings.ToLower(p.First+"."+p.Last) + "@example.test"
		t.people[p.IdentityKey] = &p
	}
	w := &World{}
	for _, a := range read[Address](t, "addresses") {
		a.AddressKey = a.ZIP + a.Plus4 + a.DeliveryPoint
		t.addresses[a.MAK] = &a
		w.addresses = append(w.addresses, &a)
	}
	for _, of := range read[struct {
		MAK string
		Parcel
	}](t, "parcels") {
		a := t.addresses[of.MAK]
		a.Parcel = &of.Parcel
		a.Parcel.Polygon = drawLand(a)
	}
	for _, of := range read[struct {
		MAK string
		Deed
	}](t, "deeds") {
		p := t.addresses[of.MAK].Parcel
		p.Deeds = append(p.Deeds, of.Deed)
	}
	w.residents, w.homeowners = read[Resident](t, "residents"), read[Homeowner](t, "homeowners")
	w.movers, w.businesses = read[Mover](t, "movers"), read[Business](t, "businesses")
	return w
}

// tables resolves the keys in cells.
type tables struct {
	people    map[string]*Person
	addresses map[string]*Address
}

// read returns the rows of a table. It panics when the table is wrong, as no test would
// let it be.
func read[T any](t tables, name string) []T {
	file, err := world.Open("world/" + name + ".csv")
	if err != nil {
		panic(err)
	}
	defer file.Close()
	lines, err := csv.NewReader(file).ReadAll()
	if err != nil {
		panic(err)
	}
	var columns [][]int
	for _, field := range lines[0] {
		found, ok := reflect.TypeFor[T]().FieldByName(field)
		if !ok {
			panic(fmt.Sprintf("gazetteer: table %s has the column %s", name, field))
		}
		columns = append(columns, found.Index)
	}
	rows := make([]T, len(lines)-1)
	for i, line := range lines[1:] {
		row := reflect.ValueOf(&rows[i]).Elem()
		for j, cell := range line {
			if cell != "" {
				t.set(row.FieldByIndex(columns[j]), cell)
			}
		}
	}
	return rows
}

func (t tables) set(field reflect.Value, cell string) {
	var err error
	switch to := field.Addr().Interface().(type) {
	case *string:
		*to = cell
	case *int:
		*to, err = strconv.Atoi(cell)
	case *float64:
		*to, err = strconv.ParseFloat(cell, 64)
	case *bool:
		*to, err = strconv.ParseBool(cell)
	case **Person:
		*to = t.people[cell]
	case **Address:
		*to = t.addresses[cell]
	default:
		panic("gazetteer: no table can hold a " + field.Type().String())
	}
	if err != nil {
		panic(err)
	}
}
