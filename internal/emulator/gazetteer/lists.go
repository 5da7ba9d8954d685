package gazetteer

// Mover is a person who moved from one address of the world to another.
type Mover struct {
	Person   *Person
	From, To *Address
	Date     string // YYYY-MM-DD
}

// Homeowner is a person who lives in a home that they bought.
type Homeowner struct {
	Person   *Person
	Address  *Address
	Date     string // of the deed, YYYY-MM-DD
	Price    int    // in dollars
	Lender   string // "" without a mortgage
	Mortgage int    // in dollars
}

// Resident is a person with their home.
type Resident struct {
	Person  *Person
	Address *Address
	Owner   bool   // owns the home, alone or with a co-owner
	Since   string // YYYY-MM-DD
}

// Business is a firm at its address.
type Business struct {
	Name      string
	Address   *Address
	Phone     string // 10 digits
	SIC       string
	NAICS     string
	Trade     string // the trade that SIC and NAICS stand for
	Employees int
	Sales     int // a year, in dollars
	Founded   int // a year
	Contact   *Person
	Title     string // of the contact
	Website   string
	Email     string
}

// addLists fills the lists of residents, homeowners and movers.
func (b *builder) addLists() {
	for i, h := range b.households {
		b.listHousehold(h)
		if i%5 == 2 {
			b.listMover(i)
		}
	}
}

func (b *builder) listHousehold(h household) {
	p := h.home.Parcel
	owns := p.OwnerAddress == h.home
	since := p.Deeds[0].Date
	if !owns {
		since = b.randomFor(h.home, "tenancy").date(2015, 2026)
	}
	for _, person := range h.people {
		b.w.residents = append(b.w.residents, Resident{Person: person, Address: h.home, Owner: owns, Since: since})
	}
	if owns {
		d := p.Deeds[0]
		b.w.homeowners = append(b.w.homeowners, Homeowner{
			Person: p.Owner, Address: h.home, Date: d.Date, Price: d.Price, Lender: d.Lender, Mortgage: d.MortgageAmount,
		})
	}
}

// listMover lets the head of a household come from another household's home.
func (b *builder) listMover(i int) {
	h := b.households[i]
	from := b.households[(i+7+i*13)%len(b.households)].home
	if from == h.home {
		return
	}
	date := b.randomFor(h.home, "move").date(2024, 2026)
	b.w.movers = append(b.w.movers, Mover{Person: h.people[0], From: from, To: h.home, Date: date})
}
