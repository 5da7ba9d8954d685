package listing

import (
	"strings"

	"syncd/internal/emulator/gazetteer"
	"syncd/internal/emulator/service"
)

// group is a group of records that a list is made from.
type group struct {
	name    string
	filters map[string]string // names of filters, by their lower case
	// minimum are the filters of which Includes needs at least one.
	minimum []string
	// suite is true when the unit has a column of its own beside AddressLine.
	suite   bool
	columns map[string]column // by lower-case name
	rows    func() []row
}

// row is a record of any group. A field is nil when the group has no such thing.
type row struct {
	address  *gazetteer.Address
	previous *gazetteer.Address
	person   *gazetteer.Person
	mover    *gazetteer.Mover
	buyer    *gazetteer.Homeowner
	resident *gazetteer.Resident
	business *gazetteer.Business
}

func groups(cfg service.Config) []*group {
	s := source{cfg.World}
	places := []string{"Zips", "Cities", "Radius", "ShapeWKTs"}
	all := []*group{
		{name: "MAK", minimum: places, suite: true, rows: s.addressRows},
		{name: "NewMovers", minimum: append(places, "CensusKey"), rows: s.moverRows},
		{name: "NewHomeowners", minimum: places, rows: s.buyerRows},
		{name: "Consumer", minimum: places, suite: true, rows: s.residentRows},
		{name: "ConsumerTwo", minimum: places, rows: s.residentRows},
		{name: "Business", minimum: places, suite: true, rows: s.businessRows},
	}
	for _, g := range all {
		g.columns = columns(cfg.Prefix, g.suite)
		g.filters = make(map[string]string)
		for name := range strings.FieldsSeq(strings.ReplaceAll(filterNames[g.name], "{Prefix}", cfg.Prefix)) {
			g.filters[strings.ToLower(name)] = name
		}
	}
	return all
}

// source makes the rows of all groups from the world.
type source struct{ world *gazetteer.World }

func (s source) addressRows() []row {
	var rows []row
	for _, a := range s.world.Addresses() {
		rows = append(rows, row{address: a})
	}
	return rows
}

func (s source) moverRows() []row {
	movers := s.world.Movers()
	rows := make([]row, len(movers))
	for i := range movers {
		m := &movers[i]
		rows[i] = row{address: m.To, previous: m.From, person: m.Person, mover: m}
	}
	return rows
}

func (s source) buyerRows() []row {
	buyers := s.world.Homeowners()
	rows := make([]row, len(buyers))
	for i := range buyers {
		rows[i] = row{address: buyers[i].Address, person: buyers[i].Person, buyer: &buyers[i]}
	}
	return rows
}

func (s source) residentRows() []row {
	residents := s.world.Residents()
	rows := make([]row, len(residents))
	for i := range residents {
		rows[i] = row{address: residents[i].Address, person: residents[i].Person, resident: &residents[i]}
	}
	return rows
}

func (s source) businessRows() []row {
	businesses := s.world.Businesses()
	rows := make([]row, len(businesses))
	for i := range businesses {
		rows[i] = row{address: businesses[i].Address, person: businesses[i].Contact, business: &businesses[i]}
	}
	return rows
}
