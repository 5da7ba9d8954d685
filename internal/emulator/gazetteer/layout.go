package gazetteer

import (
	"fmt"
	"math"
	"slices"
	"strconv"
)

// builder makes the world from the plan.
type builder struct {
	w          *World
	mak        int // the last key given
	account    int // the last account given
	person     int // the last person made
	households []household
}

func newBuilder() *builder {
	return &builder{w: new(World), mak: 4400110001, account: 100000, person: 7700100000}
}

// sideStep is how far a house stands from the middle of its street, in degrees.
const sideStep = 0.0001

// addAddresses adds all addresses with their parcels. Their people come later.
func (b *builder) addAddresses() {
	for i := range plan {
		for j := range plan[i].cities {
			b.addCity(&plan[i], &plan[i].cities[j])
		}
	}
}

func (b *builder) addCity(co *county, c *city) {
	for i := range c.streets {
		s := &c.streets[i]
		for n := s.first; n < s.first+s.houses; n++ {
			b.addHouse(co, c, s, n, i)
		}
	}
	for box := 1; box <= c.boxes; box++ {
		b.addBox(co, c, box)
	}
}

// addHouse adds the address of a house number, and the units in it.
func (b *builder) addHouse(co *county, c *city, s *street, n, row int) {
	a := newAddress(co, c)
	a.Number, a.PreDirection, a.Street, a.Suffix = strconv.Itoa(n), s.pre, s.name, s.suffix
	a.CarrierRoute = fmt.Sprintf("C%03d", 1+row/2)
	a.CensusKey = fmt.Sprintf("%s%s%04d", co.fips, c.tract, 1000+row)
	a.Latitude, a.Longitude = s.place(n)
	if slices.Contains(s.firms, n) {
		a.RBDI = "B"
	}
	a.EmptyLot = slices.Contains(s.empty, n)
	b.add(a, s.plus4+side(n)+2*(n/100-s.first/100), n%100)
	if units := s.buildings[n]; units > 0 {
		b.addUnits(a, c, s, n, units)
		return
	}
	b.addParcel(a, c, s.page+side(n), s.lot(n))
}

// addUnits adds the apartments of a building. They have a Plus4 of their own, as in
// large buildings, and parcels of their own.
func (b *builder) addUnits(building *Address, c *city, s *street, n, units int) {
	for unit := 1; unit <= units; unit++ {
		a := *building
		a.BaseMAK, a.SuiteName, a.SuiteNumber = building.MAK, "Apt", strconv.Itoa(unit)
		// A metre apart, so that no two addresses share a point.
		a.Latitude = round6(a.Latitude + float64(unit)*0.00001)
		b.add(&a, s.plus4+5+s.lot(n)%5, unit)
		b.addParcel(&a, c, s.page+2+s.lot(n)%5, unit)
	}
}

// addBox adds a PO box at the post office. It has no parcel.
func (b *builder) addBox(co *county, c *city, box int) {
	a := newAddress(co, c)
	a.Number, a.Street, a.POBox = strconv.Itoa(box), "PO Box", true
	a.CarrierRoute = "B001"
	a.CensusKey = fmt.Sprintf("%s%s%04d", co.fips, c.tract, 1000)
	a.Latitude, a.Longitude = c.office.lat, round6(c.office.lon+float64(box)*0.00001)
	b.add(a, 100+box/100, box)
}

func newAddress(co *county, c *city) *Address {
	return &Address{City: c.name, State: co.state, ZIP: c.zip, County: co.name, FIPS: co.fips, PlaceCode: c.place, RBDI: "R"}
}

// add completes an address with its line and keys.
func (b *builder) add(a *Address, plus4, deliveryPoint int) {
	a.Line = joined(a.Number, a.Thoroughfare(), a.Suite())
	if a.POBox {
		a.Line = "PO Box " + a.Number
	}
	a.Plus4, a.DeliveryPoint = fmt.Sprintf("%04d", plus4), fmt.Sprintf("%02d", deliveryPoint)
	a.AddressKey = a.ZIP + a.Plus4 + a.DeliveryPoint
	a.MAK = fixedMAKs[a.Line+" "+a.ZIP]
	if a.MAK == "" {
		a.MAK = b.nextMAK()
	}
	b.w.addresses = append(b.w.addresses, a)
}

// nextMAK returns the next key. Its steps never meet one of fixedMAKs; a test checks
// that.
func (b *builder) nextMAK() string {
	b.mak += 7
	return strconv.Itoa(b.mak)
}

// place returns the point of a number: along the street, on its side, and up to
// two metres off the line.
func (s *street) place(n int) (lat, lon float64) {
	along, across := float64(s.lot(n)-1), sideStep-2*sideStep*float64(side(n))
	r := random{uint64(n*1000 + s.page)}
	off := float64(r.between(-2, 2)) * 0.00001
	lat, lon = s.from.lat+along*s.heading.lat, s.from.lon+along*s.heading.lon
	if s.heading.lat == 0 {
		lat += across
	} else {
		lon += across
	}
	if joined(strconv.Itoa(n), s.name, s.suffix) == sampleLine {
		off = 0
	}
	return round6(lat + off), round6(lon + off)
}

// side is 0 for odd numbers and 1 for even ones.
func side(n int) int { return 1 - n%2 }

// lot returns the position of a number among those of its side.
func (s *street) lot(n int) int { return (n-s.first+1)/2 + 1 }

func round6(degrees float64) float64 { return math.Round(degrees*1e6) / 1e6 }
