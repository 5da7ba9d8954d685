package gazetteer

import (
	"fmt"
	"strings"
)

const assessmentYear = Year - 1

// addParcel adds the land of an address and the building on it.
func (b *builder) addParcel(a *Address, c *city, page, lot int) {
	b.account += 37
	p := &Parcel{
		FIPS:           a.FIPS,
		APN:            fmt.Sprintf("%02d-%03d-%02d", c.book, page, lot),
		UnformattedAPN: fmt.Sprintf("%02d%03d%02d", c.book, page, lot),
		Account:        fmt.Sprintf("R%06d", b.account),
		Subdivision:    c.subdivision,
		Lot:            fmt.Sprint(lot),
		AssessmentYear: assessmentYear,
	}
	a.Parcel = p
	r := b.randomFor(a, "land")
	p.setUse(a)
	p.LotWidth, p.LotDepth = r.between(60, 70), r.between(95, 120)
	p.LotArea = p.LotWidth * p.LotDepth
	if !a.EmptyLot {
		p.addBuilding(r)
	}
	p.setValue(r)
	if a.MAK == sampleMAK {
		p.setPrice(samplePrice)
	}
	p.Polygon = polygon(a)
}

// setUse sets the use of the land.
func (p *Parcel) setUse(a *Address) {
	switch {
	case a.EmptyLot:
		p.UseGroup, p.UseCode, p.Use, p.Zoning = "Vacant", "8001", "Vacant land", "R-1"
	case a.RBDI == "B":
		p.UseGroup, p.UseCode, p.Use, p.Zoning = "Commercial", "2000", "Commercial building", "C-2"
	case a.SuiteNumber != "":
		p.UseGroup, p.UseCode, p.Use, p.Zoning = "Residential", "1004", "Condominium unit", "R-3"
	default:
		p.UseGroup, p.UseCode, p.Use, p.Zoning = "Residential", "1001", "Single family residence", "R-1"
	}
}

// addBuilding adds a building to the land.
func (p *Parcel) addBuilding(r *random) {
	p.YearBuilt = r.between(1948, 2004)
	p.Stories = r.between(1, 2)
	p.FirstFloor = r.between(80, 160) * 10
	if p.Stories == 2 {
		p.UpperFloors = p.FirstFloor - r.between(5, 30)*10
	}
	p.BuildingArea = p.FirstFloor + p.UpperFloors
	p.GarageArea, p.BasementArea = r.between(0, 2)*220, r.between(0, 1)*p.FirstFloor/2
	p.Bedrooms, p.Baths, p.Fireplaces = r.between(2, 4)+p.Stories/2, r.between(1, 3), r.between(0, 1)
	p.Rooms = p.Bedrooms + r.between(3, 5)
	p.Pool = r.chance(8)
	p.Construction, p.Exterior = r.pick(constructions), r.pick(exteriors)
	p.Roof, p.Foundation = r.pick(roofs), r.pick(foundations)
	p.Heating, p.Cooling = r.pick(heatings), r.pick(coolings)
}

func (p *Parcel) setValue(r *random) {
	p.MarketLand = p.LotArea * r.between(4, 7)
	p.setPrice(p.MarketLand + p.BuildingArea*r.between(95, 140))
}

// setPrice sets the values of a parcel by its price.
func (p *Parcel) setPrice(dollars int) {
	p.MarketImprovements = dollars - p.MarketLand
	p.AssessedLand, p.AssessedImprovements = p.MarketLand*9/10, p.MarketImprovements*9/10
	p.EstimatedValue = dollars * 105 / 100
	p.TaxBilled = p.AssessedTotal() * 12 / 1000
}

// polygon draws the land as a rectangle around its address.
func polygon(a *Address) string {
	const halfHigh, halfWide = 0.00015, 0.0001
	corners := [][2]float64{{-1, -1}, {1, -1}, {1, 1}, {-1, 1}, {-1, -1}}
	var points []string
	for _, c := range corners {
		points = append(points, fmt.Sprintf("%.6f %.6f", a.Longitude+c[0]*halfWide, a.Latitude+c[1]*halfHigh))
	}
	return "POLYGON((" + strings.Join(points, ",") + "))"
}
