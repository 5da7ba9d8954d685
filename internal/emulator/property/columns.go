package property

import (
	"strings"

	"syncd/internal/emulator/wire"
)

// columnGroup is a sub-object of a record: its name, and its members in the order
// of the wire with blanks between. {Prefix} stands for the vendor's word.
type columnGroup struct{ name, columns string }

// values returns all members of the group. Those not given are blank.
func (g columnGroup) values(prefix string, given wire.Fields) wire.Fields {
	var blank wire.Fields
	for name := range strings.FieldsSeq(strings.ReplaceAll(g.columns, "{Prefix}", prefix)) {
		blank = append(blank, wire.Field{Key: name, Value: ""})
	}
	return blank.With(given)
}

// selection holds the names of columns and groups that a caller asked for, in
// lower case. A group has the prefix "grp".
type selection map[string]bool

// selectColumns reads a list of columns and groups. An empty list selects the
// default groups.
func selectColumns(text string, defaults ...string) selection {
	asked := make(selection)
	for name := range strings.SplitSeq(strings.ToLower(text), ",") {
		if name = strings.TrimSpace(name); name != "" {
			asked[name] = true
		}
	}
	if len(asked) == 0 {
		for _, group := range defaults {
			asked["grp"+strings.ToLower(group)] = true
		}
	}
	return asked
}

// wants returns whether the selection holds a whole group.
func (s selection) wants(group string) bool {
	switch {
	case s["grp"+strings.ToLower(group)]:
		return true
	case group == "PropertyUseInfo" && s["grptax"]:
		return true // the provider counts its columns among those of Tax
	}
	return s["grpall"] && group != "Shape" // shapes are long and need GrpShape
}

// of returns the selected members of a group, an empty object for none.
func (s selection) of(group string, all wire.Fields) wire.Fields {
	if s.wants(group) {
		return all
	}
	var some wire.Fields
	for _, f := range all {
		if s[strings.ToLower(f.Key)] {
			some = append(some, f)
		}
	}
	return some
}

// propertyGroups are the sub-objects of a record of LookupProperty.
var propertyGroups = []columnGroup{
	{"Parcel", `AccountNumber AlternateAPN APNYearChange CBSACode CBSAName CensusBlock CensusBlockGrp
		CensusTract County FIPSCode FormattedAPN MapBook MapPage MetropolitanDivision
		MinorCivilDivisionCode MinorCivilDivisionName MSACode MSAName NeighborhoodCode
		PreviousAPN TaxJurisdiction UnformattedAPN YearAdded`},
	{"Legal", `Block1 Block2 LegalDescription LotNumber1 LotNumber2 LotNumber3 Phase Quarter
		QuarterQuarter Range Section Subdivision Township TractNumber Unit`},
	{"PropertyAddress", `Address AddressKey BaseMAK CarrierRoute City Latitude Longitude MAK PrivacyInfo State Zip`},
	{"ParsedPropertyAddress", `PostDirectional PreDirectional Range StreetName Suffix SuiteName SuiteRange`},
	{"PrimaryOwner", `CompanyFlag {Prefix}IdentityKey1 {Prefix}IdentityKey2 Name1First Name1Full Name1Last
		Name1Middle Name1Suffix Name2First Name2Full Name2Last Name2Middle Name2Suffix TrustFlag
		Type VestingType`},
	{"SecondaryOwner", `Name3First Name3Full Name3Last Name3Middle Name3Suffix Name4First Name4Full Name4Last
		Name4Middle Name4Suffix Type`},
	{"OwnerAddress", `Address BaseMAK CarrierRoute City FormatInfo MAK OwnerOccupied PrivacyInfo State Zip`},
	{"LastDeedOwnerInfo", `Name1First Name1Full Name1Last Name1Middle Name1Suffix Name2First Name2Full Name2Last
		Name2Middle Name2Suffix Name3First Name3Full Name3Last Name3Middle Name3Suffix Name4First
		Name4Full Name4Last Name4Middle Name4Suffix`},
	{"CurrentDeed", `LenderCode LenderName MortgageAmount MortgageDate MortgageDueDate MortgageLoanTypeCode
		MortgageTerm MortgageTermCode SecondMortgageAmount SecondMortgageLoanTypeCode`},
	{"Tax", `AssessedImprovementsPerc AssessedValueImprovements AssessedValueLand AssessedValueTotal
		AssrLastUpdated LastTaxRollUpdate MarketImprovementsPerc MarketValueImprovements
		MarketValueLand MarketValueTotal MarketValueYear PreviousAssessedValue TaxBilledAmount
		TaxDelinquentYear TaxExemptionAdditional TaxExemptionDisabled TaxExemptionHomeowner
		TaxExemptionSenior TaxExemptionVeteran TaxExemptionWidow TaxFiscalYear TaxRateArea
		YearAssessed`},
	{"PropertyUseInfo", `PropertyUseGroup PropertyUseMuni PropertyUseStandardized YearBuilt YearBuiltEffective
		ZonedCodeLocal`},
	{"SaleInfo", `AssessorLastSaleAmount AssessorLastSaleDate AssessorPriorSaleAmount AssessorPriorSaleDate
		DeedLastDocumentNumber DeedLastSaleDate DeedLastSaleDocumentBook DeedLastSaleDocumentPage
		DeedLastSalePrice DeedLastSaleTxID LastOwnershipTransferDate
		LastOwnershipTransferDocumentNumber LastOwnershipTransferTxID`},
	{"PropertySize", `Area1stFloor Area2ndFloor AreaBuilding AreaBuildingDefinitionCode AreaGross AreaLotAcres
		AreaLotSF AreaUpperFloors AtticArea AtticFlag BasementArea BasementAreaFinished
		BasementAreaUnfinished LotDepth LotWidth ParkingCarport ParkingCarportArea ParkingGarage
		ParkingGarageArea`},
	{"Pool", `Pool PoolArea SaunaFlag`},
	{"IntStructInfo", `Construction ConstructionFireResistanceClass FlooringMaterialPrimary Foundation
		InteriorStructure PlumbingFixturesCount SafetyFireSprinklersFlag`},
	{"IntRoomInfo", `BathCount BathPartialCount BedroomsCount BonusRoomFlag BreakfastNookFlag CellarFlag
		CellarWineFlag ExcerciseFlag FamilyCode GameFlag GreatFlag HobbyFlag LaundryFlag
		MediaFlag MudFlag OfficeArea OfficeFlag RoomsCount SafeRoomFlag SittingFlag StoriesCount
		StormFlag StudyFlag SunroomFlag UnitsCount UtilityArea UtilityCode`},
	{"IntAmenities", `AccessabilityElevatorFlag AccessabilityHandicapFlag CentralVacuumFlag EscalatorFlag
		Fireplace FireplaceCount IntercomFlag SecurityAlarmFlag SoundSystemFlag WetBarFlag`},
	{"ExtStructInfo", `Exterior1Code OverheadDoorFlag RoofConstruction RoofMaterial StormShutterFlag
		StructureStyle`},
	{"ExtAmenities", `BalconyArea BreezewayFlag DeckArea DeckFlag FeatureBalconyFlag PatioArea PorchArea
		PorchCode ViewDescription`},
	{"ExtBuildings", `BathHouseArea BathHouseFlag BoatAccessFlag BoatHouseArea BoatHouseFlag BuildingsCount
		CabinArea CabinFlag CanopyArea CanopyFlag GazeboArea GazeboFlag GranaryArea GranaryFlag
		GreenHouseArea GreenHouseFlag GuestHouseArea GuestHouseFlag KennelArea KennelFlag
		LeanToArea LeanToFlag LoadingPlatformArea LoadingPlatformFlag MilkHouseArea MilkHouseFlag
		OutdoorKitchenFireplaceFlag PoleStructureArea PoleStructureFlag PoolHouseArea
		PoolHouseFlag PoultryHouseArea PoultryHouseFlag QuonsetArea QuonsetFlag ShedArea ShedCode
		SiloArea SiloFlag StableArea StableFlag StorageBuildingArea StorageBuildingFlag
		UtilityBuildingArea UtilityBuildingFlag`},
	{"Utilities", `HVACCoolingDetail HVACHeatingDetail HVACHeatingFuel MobileHomeHookupFlag SewageUsage
		WaterSource`},
	{"Parking", `DrivewayArea DrivewayMaterial ParkingSpaceCount RVParkingFlag`},
	{"YardGardenInfo", `ArborPergolaFlag ArenaFlag BoatLiftFlag CourtyardArea CourtyardFlag FenceArea FenceCode
		GolfCourseGreenFlag PondFlag SportsCourtFlag SprinklersFlag TennisCourtFlag
		TopographyCode WaterFeatureFlag`},
	{"EstimatedValue", `ConfidenceScore EstimatedMaxValue EstimatedMinValue EstimatedValue ValuationDate`},
	{"Shape", `WellKnownText`},
}

// mortgageColumns are the members of each mortgage of a deed.
const mortgageColumns = `AdjustableRateIndex AdjustableRateRiderFlag Amount Book DocNumberFormatted
	DocNumberLegacy FixedStepConvRate InstrumentNumber InterestChangeFreq InterestIndex
	InterestMargin InterestOnlyFlag InterestOnlyPeriod InterestRate InterestRateMax
	InterestRateType InterestTypeChangeDate InterestTypeInitial IsLenderSeller LenderAddress
	LenderCity LenderCode LenderFirstName LenderFullName LenderLastName LenderState
	LenderType LenderZip MaxInterestRateFirstChange MinInterestRateFirstChange Page
	PrepaymentPenaltyFlag PrepaymentTerm RecordingDate Term TermDate TermType Type`

// deedGroups are the sub-objects of a record of LookupDeeds. The provider's
// PropertyAddress is always empty.
var deedGroups = []columnGroup{
	{"DocInfo", `Book InstrumentDate InstrumentNumber NumberFormatted NumberLegacy Page RecordingDate
		TypeCode`},
	{"TxDefInfo", `ArmsLengthFlag ForeclosureAuctionSale PartialInterest QuitclaimFlag TransactionType
		TransferInfoDistressCircumstanceCode TransferInfoMultiParcelFlag
		TransferInfoPurchaseTypeCode`},
	{"TxAmtInfo", `TransferAmount TransferAmountInfoAccuracy TransferTaxCounty TransferTaxTotal`},
	{"PrimaryGrantor", `Name1ClassType Name1First Name1Full Name1Last Name1LegalType Name1Middle Name1Suffix
		Name2ClassType Name2First Name2Full Name2Last Name2LegalType Name2Middle Name2Suffix`},
	{"PrimaryGrantee", `Name1ClassType Name1First Name1Full Name1Last Name1LegalType Name1Middle Name1Suffix
		Name2ClassType Name2First Name2Full Name2Last Name2Middle Name2Suffix`},
	{"SecondaryGrantor", `Name3ClassType Name3First Name3Full Name3Last Name3Middle Name3Suffix Name4ClassType
		Name4First Name4Full Name4Last Name4Middle Name4Suffix`},
	{"SecondaryGrantee", `Name3ClassType Name3First Name3Full Name3Last Name3Middle Name3Suffix Name4ClassType
		Name4First Name4Full Name4Last Name4Middle Name4Suffix`},
	{"TitleCompInfo", `StandardizedCode StandardizedName TitleCompanyRaw`},
	{"Mortgage1", mortgageColumns},
	{"Mortgage2", mortgageColumns},
	{"Valuation", `EstDownPayment EstLTV`},
	{"PropertyAddress", ``},
}
