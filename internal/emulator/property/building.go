package property

import (
	"fmt"
	"strconv"
	"strings"

	"syncd/internal/emulator/wire"
)

func (v view) use() wire.Fields {
	p := v.parcel
	use := p.UseCode
	if v.described {
		use = p.Use
	}
	return wire.Fields{
		{"PropertyUseGroup", p.UseGroup},
		{"PropertyUseStandardized", use},
		{"YearBuilt", count(p.YearBuilt)},
		{"YearBuiltEffective", count(p.YearBuilt)},
		{"ZonedCodeLocal", p.Zoning},
	}
}

func (v view) size() wire.Fields {
	p := v.parcel
	return wire.Fields{
		{"Area1stFloor", count(p.FirstFloor)},
		{"Area2ndFloor", count(p.UpperFloors)},
		{"AreaBuilding", count(p.BuildingArea)},
		{"AreaGross", count(p.BuildingArea + p.GarageArea)},
		{"AreaLotAcres", fmt.Sprintf("%.4f", float64(p.LotArea)/squareFeetPerAcre)},
		{"AreaLotSF", strconv.Itoa(p.LotArea)},
		{"AreaUpperFloors", count(p.UpperFloors)},
		{"BasementArea", count(p.BasementArea)},
		{"LotDepth", strconv.Itoa(p.LotDepth)},
		{"LotWidth", strconv.Itoa(p.LotWidth)},
		{"ParkingGarageArea", count(p.GarageArea)},
	}
}

const squareFeetPerAcre = 43560

func (v view) rooms() wire.Fields {
	p := v.parcel
	units := ""
	if !v.address.EmptyLot {
		units = "1"
	}
	return wire.Fields{
		{"BathCount", count(p.Baths)},
		{"BedroomsCount", count(p.Bedrooms)},
		{"RoomsCount", count(p.Rooms)},
		{"StoriesCount", count(p.Stories)},
		{"UnitsCount", units},
	}
}

// code returns the words if the caller asked for texts. Otherwise it returns a code
// made from the first two letters of each word.
func (v view) code(words string) string {
	if v.described {
		return words
	}
	code := ""
	for word := range strings.FieldsSeq(strings.ToUpper(words)) {
		code += word[:min(2, len(word))]
	}
	return code
}

// count writes a number, blank for 0.
func count(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func percent(part, whole int) string { return strconv.Itoa(part * 100 / whole) }

func yesNo(yes bool) string {
	if yes {
		return "Y"
	}
	return "N"
}

// compact writes YYYY-MM-DD as YYYYMMDD.
func compact(date string) string { return strings.ReplaceAll(date, "-", "") }
