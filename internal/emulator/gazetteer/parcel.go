package gazetteer

import (
	"fmt"
	"strings"
)

// Parcel is a piece of land in the records of the county. Money is in whole
// dollars, areas are in square feet.
type Parcel struct {
	FIPS           string
	APN            string // formatted, such as "14-220-07"
	UnformattedAPN string
	Account        string
	Subdivision    string
	Lot            string

	Owner        *Person
	CoOwner      *Person  // nil for a single owner
	OwnerAddress *Address // where the owner lives, in most cases here

	UseGroup string // "Residential", "Commercial" or "Vacant"
	UseCode  string
	Use      string // UseCode in words
	Zoning   string

	AssessmentYear       int
	AssessedLand         int
	AssessedImprovements int
	MarketLand           int
	MarketImprovements   int
	EstimatedValue       int
	TaxBilled            int

	LotArea, LotWidth, LotDepth int // the last two in feet

	// The fields of a building are zero on an empty lot.
	YearBuilt                  int
	BuildingArea               int
	FirstFloor, UpperFloors    int
	GarageArea, BasementArea   int
	Rooms, Bedrooms, Baths     int
	Stories, Fireplaces        int
	Pool                       bool
	Construction, Roof         string
	Foundation                 string
	Heating, Cooling, Exterior string

	Deeds   []Deed // 1 to 4, the newest first
	Polygon string // well-known text, longitude before latitude
}

// AssessedTotal returns the assessed value of land and buildings.
func (p *Parcel) AssessedTotal() int { return p.AssessedLand + p.AssessedImprovements }

// MarketTotal returns the market value of land and buildings.
func (p *Parcel) MarketTotal() int { return p.MarketLand + p.MarketImprovements }

// drawLand returns the land of an address as a rectangle around it.
func drawLand(a *Address) string {
	const halfHigh, halfWide = 0.00015, 0.0001
	corners := [][2]float64{{-1, -1}, {1, -1}, {1, 1}, {-1, 1}, {-1, -1}}
	var points []string
	for _, c := range corners {
		points = append(points, fmt.Sprintf("%.6f %.6f", a.Longitude+c[0]*halfWide, a.Latitude+c[1]*halfHigh))
	}
	return "POLYGON((" + strings.Join(points, ",") + "))"
}

// Deed is a recorded sale. Dates have the form YYYY-MM-DD.
type Deed struct {
	Date           string
	RecordingDate  string
	Type           string // the recorder's code
	Instrument     string
	Book, Page     string
	Price          int
	Grantor        *Person
	Grantee        *Person
	CoGrantee      *Person // nil for a single buyer
	TitleCompany   string
	Lender         string // "" without a mortgage
	MortgageAmount int
	MortgageTerm   int    // in years
	MortgageDue    string // when the mortgage ends
	InterestRate   string // in per cent, such as "5.25"
}

// Person is an owner, a seller, a resident or a contact of a business.
type Person struct {
	IdentityKey         string // the provider's key, 10 digits
	First, Middle, Last string
	Gender              string // "F" or "M"
	BirthYear           int
	Phone               string // 10 digits
	Email               string
}

// Full returns the whole name.
func (p *Person) Full() string { return joined(p.First, p.Middle, p.Last) }
