package gazetteer

import (
	"fmt"
	"strings"
)

const assessmentYear = lastYear - 1

// addParcel gives an address its land, and what stands on it.
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
	d := b.drawFor(a, "land")
	p.use(a)
	p.LotWidth, p.LotDepth = d.between(60, 70), d.between(95, 120)
	p.LotArea = p.LotWidth * p.LotDepth
	if !a.EmptyLot {
		p.build(d)
	}
	p.value(d)
	if a.MAK == sampleMAK {
		p.worth(samplePrice)
	}
	p.Polygon = polygon(a)
}

// use says what the land is for.
func (p *Parcel) use(a *Address) {
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

// build puts a house on the land.
func (p *Parcel) build(d *draw) {
	p.YearBuilt = d.between(1948, 2004)
	p.Stories = d.between(1, 2)
	p.FirstFloor = d.between(80, 160) * 10
	if p.Stories == 2 {
		p.UpperFloors = p.FirstFloor - d.between(5, 30)*10
	}
	p.BuildingArea = p.FirstFloor + p.UpperFloors
	p.GarageArea, p.BasementArea = d.between(0, 2)*220, d.between(0, 1)*p.FirstFloor/2
	p.Bedrooms, p.Baths, p.Fireplaces = d.between(2, 4)+p.Stories/2, d.between(1, 3), d.between(0, 1)
	p.Rooms = p.Bedrooms + d.between(3, 5)
	p.Pool = d.chance(8)
	p.Construction, p.Exterior = d.pick(constructions), d.pick(exteriors)
	p.Roof, p.Foundation = d.pick(roofs), d.pick(foundations)
	p.Heating, p.Cooling = d.pick(heatings), d.pick(coolings)
}

func (p *Parcel) value(d *draw) {
	p.MarketLand = p.LotArea * d.between(4, 7)
	p.worth(p.MarketLand + p.BuildingArea*d.between(95, 140))
}

// worth sets the values of a parcel that would sell for so much.
func (p *Parcel) worth(dollars int) {
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
