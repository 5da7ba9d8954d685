package gazetteer

// Mover is somebody who moved within the world.
type Mover struct {
	Person   *Person
	From, To *Address
	Date     string // YYYY-MM-DD
}

// Homeowner is somebody who bought the home that they live in.
type Homeowner struct {
	Person   *Person
	Address  *Address
	Date     string // of the deed, YYYY-MM-DD
	Price    int    // in dollars
	Lender   string // "" without a mortgage
	Mortgage int    // in dollars
}

// Resident is somebody at home.
type Resident struct {
	Person  *Person
	Address *Address
	Owner   bool   // owns the home, alone or with another
	Since   string // YYYY-MM-DD
}

// Business is a firm at its address.
type Business struct {
	Name      string
	Address   *Address
	Phone     string // 10 digits
	SIC       string
	NAICS     string
	Trade     string // what the two codes say
	Employees int
	Sales     int // a year, in dollars
	Founded   int // a year
	Contact   *Person
	Title     string // of the contact
	Website   string
	Email     string
}

// makeLists fills the lists that follow from who lives where.
func (b *builder) makeLists() {
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
		since = b.drawFor(h.home, "tenancy").date(2015, 2026)
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

// listMover moves the head of a household in from another household's home.
func (b *builder) listMover(i int) {
	h := b.households[i]
	from := b.households[(i+7+i*13)%len(b.households)].home
	if from == h.home {
		return
	}
	date := b.drawFor(h.home, "move").date(2024, 2026)
	b.w.movers = append(b.w.movers, Mover{Person: h.people[0], From: from, To: h.home, Date: date})
}
