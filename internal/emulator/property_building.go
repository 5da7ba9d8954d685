package emulator

import (
	"fmt"
	"strconv"
	"strings"
)

// building returns what the world knows of the groups on what stands on a
// parcel.
func (v propertyView) building(group string) fields {
	switch group {
	case "PropertyUseInfo":
		return v.use()
	case "PropertySize":
		return v.size()
	case "IntRoomInfo":
		return v.rooms()
	}
	return v.structure(group)
}

func (v propertyView) use() fields {
	p := v.parcel
	use := p.UseCode
	if v.described {
		use = p.Use
	}
	return fields{
		{"PropertyUseGroup", p.UseGroup},
		{"PropertyUseStandardized", use},
		{"YearBuilt", count(p.YearBuilt)},
		{"YearBuiltEffective", count(p.YearBuilt)},
		{"ZonedCodeLocal", p.Zoning},
	}
}

func (v propertyView) size() fields {
	p := v.parcel
	return fields{
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

func (v propertyView) rooms() fields {
	p := v.parcel
	units := ""
	if !v.address.EmptyLot {
		units = "1"
	}
	return fields{
		{"BathCount", count(p.Baths)},
		{"BedroomsCount", count(p.Bedrooms)},
		{"RoomsCount", count(p.Rooms)},
		{"StoriesCount", count(p.Stories)},
		{"UnitsCount", units},
	}
}

func (v propertyView) structure(group string) fields {
	p := v.parcel
	switch group {
	case "Pool":
		return fields{{"Pool", yesNo(p.Pool)}}
	case "IntStructInfo":
		return fields{{"Construction", v.code(p.Construction)}, {"Foundation", v.code(p.Foundation)}}
	case "IntAmenities":
		return fields{{"Fireplace", yesNo(p.Fireplaces > 0)}, {"FireplaceCount", strconv.Itoa(p.Fireplaces)}}
	case "ExtStructInfo":
		return fields{{"Exterior1Code", v.code(p.Exterior)}, {"RoofMaterial", v.code(p.Roof)}}
	case "Utilities":
		return fields{{"HVACCoolingDetail", v.code(p.Cooling)}, {"HVACHeatingDetail", v.code(p.Heating)}}
	}
	return nil
}

// code returns the words or, unless the caller asked for them, a code made from
// their initials.
func (v propertyView) code(words string) string {
	if v.described {
		return words
	}
	code := ""
	for word := range strings.FieldsSeq(strings.ToUpper(words)) {
		code += word[:min(2, len(word))]
	}
	return code
}

// count is blank for nothing.
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

// degrees writes a coordinate as all services do that write text.
func degrees(d float64) string { return strconv.FormatFloat(d, 'f', 6, 64) }
