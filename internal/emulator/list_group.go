package emulator

import (
	"strings"

	"syncd/internal/emulator/gazetteer"
)

// listGroup is a type of list: where its records come from, and what they can be
// filtered by.
type listGroup struct {
	name    string
	filters map[string]string // the names, by their lower case
	// minimum are the filters of which Includes must hold one.
	minimum []string
	// suite tells that the unit has a column of its own, apart from AddressLine.
	suite   bool
	columns map[string]column // by lower-case name
	rows    func() []listRow
}

// listRow is a record of any group; what the group does not have is nil.
type listRow struct {
	address  *gazetteer.Address
	previous *gazetteer.Address
	person   *gazetteer.Person
	mover    *gazetteer.Mover
	buyer    *gazetteer.Homeowner
	resident *gazetteer.Resident
	business *gazetteer.Business
}

func (e *Emulator) listGroups() []*listGroup {
	places := []string{"Zips", "Cities", "Radius", "ShapeWKTs"}
	groups := []*listGroup{
		{name: "MAK", minimum: places, suite: true, rows: e.addressRows},
		{name: "NewMovers", minimum: append(places, "CensusKey"), rows: e.moverRows},
		{name: "NewHomeowners", minimum: places, rows: e.buyerRows},
		{name: "Consumer", minimum: places, suite: true, rows: e.residentRows},
		{name: "ConsumerTwo", minimum: places, rows: e.residentRows},
		{name: "Business", minimum: places, suite: true, rows: e.businessRows},
	}
	for _, g := range groups {
		g.columns = listColumns(e.cfg.Prefix, g.suite)
		g.filters = make(map[string]string)
		for name := range strings.FieldsSeq(strings.ReplaceAll(filterNames[g.name], "{Prefix}", e.cfg.Prefix)) {
			g.filters[strings.ToLower(name)] = name
		}
	}
	return groups
}

func (e *Emulator) addressRows() []listRow {
	var rows []listRow
	for _, a := range e.world.Addresses() {
		rows = append(rows, listRow{address: a})
	}
	return rows
}

func (e *Emulator) moverRows() []listRow {
	movers := e.world.Movers()
	rows := make([]listRow, len(movers))
	for i := range movers {
		m := &movers[i]
		rows[i] = listRow{address: m.To, previous: m.From, person: m.Person, mover: m}
	}
	return rows
}

func (e *Emulator) buyerRows() []listRow {
	buyers := e.world.Homeowners()
	rows := make([]listRow, len(buyers))
	for i := range buyers {
		rows[i] = listRow{address: buyers[i].Address, person: buyers[i].Person, buyer: &buyers[i]}
	}
	return rows
}

func (e *Emulator) residentRows() []listRow {
	residents := e.world.Residents()
	rows := make([]listRow, len(residents))
	for i := range residents {
		rows[i] = listRow{address: residents[i].Address, person: residents[i].Person, resident: &residents[i]}
	}
	return rows
}

func (e *Emulator) businessRows() []listRow {
	businesses := e.world.Businesses()
	rows := make([]listRow, len(businesses))
	for i := range businesses {
		rows[i] = listRow{address: businesses[i].Address, person: businesses[i].Contact, business: &businesses[i]}
	}
	return rows
}

// filterNames are the names that Includes may hold. Those that the world knows
// nothing about are taken and change nothing.
var filterNames = map[string]string{
	"MAK": `Zips Cities Radius ShapeWKTs RBDI POBoxStyleAddress ZipIncludedIn3553 DropInd Throwback
		DeliveryDaysFlag NonDeliveryDaysFlag NoStatInd NoSecureLocation DoorNotAccessible FalseTable BaseRecord
		NonUSPS GeoLevel CommercialMailReceivingAgency`,
	"NewMovers": `CensusKey Zips Cities Radius ShapeWKTs {Prefix}AddressKey Base{Prefix}AddressKey FullName
		FirstName MiddleName LastName RBDI AddressLines State Plus4 AddressKey ResultCodes Latitude Longitude
		Previous{Prefix}AddressKey PreviousBase{Prefix}AddressKey PreviousAddressLine PreviousSuite PreviousCities
		PreviousCountyName PreviousState PreviousZIPCode PreviousAddressKey PreviousPlus4 PreviousResultCodes
		PreviousLatitude PreviousLongitude PhoneNumber MoveEffectiveDate EstimatedHouseholdIncomeCode
		AgeOfHouseholdCode EstimatedHousingValueCode HomeownershipCode PresenceOfChildrenCode DwellingCodeNormal
		DwellingCodeSpecific MoveDistanceCode ConstructionTypeCode`,
	"NewHomeowners": `Zips Cities Radius ShapeWKTs {Prefix}AddressKey Base{Prefix}AddressKey FirstName LastName
		RBDI Address Street State Plus4 DeliveryPoint AddressKey CarrierRoute FIPSCode CountyName PlaceCode
		Latitude Longitude CensusKey PhoneNumber PurchasePrice SellDate Lender TransactionType PublishedDate
		CondoCode MortgageAmount RateType LoanType`,
	"Consumer": `Zips Cities Radius ShapeWKTs RBDI FIPSCode AddressStreetName AgeRange AgeRangeMale
		AgeRangeFemale AgeRangeUnknownGender NetWorthGoldRank`,
	"ConsumerTwo": `Zips Cities Radius ShapeWKTs RBDI FIPSCode AddressStreetName`,
	"Business": `Zips Cities Radius ShapeWKTs PrimarySICCodeId RBDI FIPSCode Email EmailDeliverableInd
		EmailMarketableInd JobTitles JobFunctionId LabelsJobFunctionId ProfessionalTitle LabelsProfessionalTitle
		LanguagesSpoken ManagementLevelLabels TitleCodes TitleCodesLabels SecondarySicCodeIds NAICSCode1 NAICSCode2
		CorporateEmployeeCount EstimatedCorporateEmployeeCount LocationEmployeeCount EstimatedLocationEmployeeCount
		LocationSalesVolume ContactEmail ContactEmailDeliverableInd ContactEmailMarketableInd CBSACode CBSALevel
		CSACode ContactGender ContactJobFunctionId ContactJobTitles ContactJobTitlesCount ContactManagementLevel
		ContactProfessionalTitle ContactIndicator ContactSuppressedFields ContactTitleCodes Website WorkAtHome
		OpenedForBusinessOn EstimatedOpenedForBusiness CorporateFranchising CorporateSalesRevenue
		EstimatedCorporateSalesRevenue RestaurantCuisines`,
}
