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
