package property

import (
	"syncd/internal/clients/service"
	"syncd/internal/clients/wire"
)

// Property is a record of LookupProperty. Each sub-object has the name of its
// group of columns without Grp, and its members have the names of the columns. A
// sub-object that was not requested is blank.
type Property struct {
	RecordID              string
	Results               service.Codes // about this record
	Parcel                Parcel
	Legal                 Legal
	PropertyAddress       Address
	ParsedPropertyAddress ParsedPropertyAddress
	PrimaryOwner          PrimaryOwner
	SecondaryOwner        SecondaryOwner
	OwnerAddress          OwnerAddress
	LastDeedOwnerInfo     LastDeedOwnerInfo
	CurrentDeed           CurrentDeed
	Tax                   Tax
	PropertyUseInfo       UseInfo
	SaleInfo              SaleInfo
	PropertySize          Size
	Pool                  Pool
	IntStructInfo         IntStructInfo
	IntRoomInfo           IntRoomInfo
	IntAmenities          IntAmenities
	ExtStructInfo         ExtStructInfo
	ExtAmenities          ExtAmenities
	ExtBuildings          ExtBuildings
	Utilities             Utilities
	Parking               Parking
	YardGardenInfo        YardGardenInfo
	EstimatedValue        EstimatedValue
	Shape                 Shape
	Unknown               wire.Object
}

// Names holds the first two people or firms in a role.
type Names struct {
	Name1First, Name1Full, Name1Last, Name1Middle, Name1Suffix, Name2First,
	Name2Full, Name2Last, Name2Middle, Name2Suffix string
}

// FurtherNames holds the third and the fourth.
type FurtherNames struct {
	Name3First, Name3Full, Name3Last, Name3Middle, Name3Suffix, Name4First,
	Name4Full, Name4Last, Name4Middle, Name4Suffix string
}

// Parcel identifies the land at the assessor. APNYearChange, NeighborhoodCode and
// YearAdded are deprecated.
type Parcel struct {
	AccountNumber, AlternateAPN, APNYearChange, CBSACode, CBSAName, CensusBlock, CensusBlockGrp, CensusTract, County, FIPSCode, FormattedAPN,
	MapBook, MapPage, MetropolitanDivision, MinorCivilDivisionCode, MinorCivilDivisionName, MSACode, MSAName, NeighborhoodCode, PreviousAPN,
	TaxJurisdiction, UnformattedAPN, YearAdded string
	Unknown wire.Object
}

// Legal is the legal description of the land. Block2 is deprecated.
type Legal struct {
	Block1, Block2, LegalDescription, LotNumber1, LotNumber2, LotNumber3, Phase, Quarter, QuarterQuarter, Range, Section, Subdivision, Township,
	TractNumber, Unit string
	Unknown wire.Object
}

// Address is the address of the property.
type Address struct {
	Address, AddressKey, BaseMAK, CarrierRoute, City, Latitude,
	Longitude, MAK, PrivacyInfo, State, Zip string
	Unknown wire.Object
}

// ParsedPropertyAddress is the address of the property in parts.
type ParsedPropertyAddress struct {
	PostDirectional, PreDirectional, Range,
	StreetName, Suffix, SuiteName, SuiteRange string
	Unknown wire.Object
}

// PrimaryOwner is the first and second owner. Type is deprecated.
type PrimaryOwner struct {
	Names
	CompanyFlag, TrustFlag, Type, VestingType string
	IdentityKey1                              string `json:"{Prefix}IdentityKey1"`
	IdentityKey2                              string `json:"{Prefix}IdentityKey2"`
	Unknown                                   wire.Object
}

// SecondaryOwner is the third and fourth owner. All of it is deprecated.
type SecondaryOwner struct {
	FurtherNames
	Type    string
	Unknown wire.Object
}

// OwnerAddress is the mailing address of the owner.
type OwnerAddress struct {
	Address, BaseMAK, CarrierRoute, City, FormatInfo, MAK,
	OwnerOccupied, PrivacyInfo, State, Zip string
	Unknown wire.Object
}

// LastDeedOwnerInfo holds the owners in the last deed. FurtherNames are deprecated
// here.
type LastDeedOwnerInfo struct {
	Names
	FurtherNames
	Unknown wire.Object
}

// CurrentDeed is the mortgage on the property. LenderCode is deprecated.
type CurrentDeed struct {
	LenderCode, LenderName, MortgageAmount, MortgageDate, MortgageDueDate, MortgageLoanTypeCode, MortgageTerm, MortgageTermCode,
	SecondMortgageAmount, SecondMortgageLoanTypeCode string
	Unknown wire.Object
}

// Tax holds the assessment and the tax. PreviousAssessedValue is deprecated.
type Tax struct {
	AssessedImprovementsPerc, AssessedValueImprovements, AssessedValueLand, AssessedValueTotal, AssrLastUpdated, LastTaxRollUpdate,
	MarketImprovementsPerc, MarketValueImprovements, MarketValueLand, MarketValueTotal, MarketValueYear, PreviousAssessedValue, TaxBilledAmount,
	TaxDelinquentYear, TaxExemptionAdditional, TaxExemptionDisabled, TaxExemptionHomeowner, TaxExemptionSenior, TaxExemptionVeteran,
	TaxExemptionWidow, TaxFiscalYear, TaxRateArea, YearAssessed string
	Unknown wire.Object
}

// UseInfo is the use of the property. GrpTax requests it too.
type UseInfo struct {
	PropertyUseGroup, PropertyUseMuni, PropertyUseStandardized,
	YearBuilt, YearBuiltEffective, ZonedCodeLocal string
	Unknown wire.Object
}

// SaleInfo holds the last sales. DeedLastSaleTxID and LastOwnershipTransferTxID
// are deprecated.
type SaleInfo struct {
	AssessorLastSaleAmount, AssessorLastSaleDate, AssessorPriorSaleAmount, AssessorPriorSaleDate, DeedLastDocumentNumber, DeedLastSaleDate,
	DeedLastSaleDocumentBook, DeedLastSaleDocumentPage, DeedLastSalePrice, DeedLastSaleTxID, LastOwnershipTransferDate,
	LastOwnershipTransferDocumentNumber, LastOwnershipTransferTxID string
	Unknown wire.Object
}

// Size holds the areas of the land and the building.
type Size struct {
	Area1stFloor, Area2ndFloor, AreaBuilding, AreaBuildingDefinitionCode, AreaGross, AreaLotAcres, AreaLotSF, AreaUpperFloors, AtticArea,
	AtticFlag, BasementArea, BasementAreaFinished, BasementAreaUnfinished, LotDepth, LotWidth, ParkingCarport, ParkingCarportArea, ParkingGarage,
	ParkingGarageArea string
	Unknown wire.Object
}

// Pool describes the pool.
type Pool struct {
	Pool, PoolArea, SaunaFlag string
	Unknown                   wire.Object
}

// IntStructInfo describes the structure inside the building.
type IntStructInfo struct {
	Construction, ConstructionFireResistanceClass, FlooringMaterialPrimary, Foundation, InteriorStructure, PlumbingFixturesCount,
	SafetyFireSprinklersFlag string
	Unknown wire.Object
}

// IntRoomInfo describes the rooms. CellarWineFlag is deprecated. The service
// misspells ExerciseFlag.
type IntRoomInfo struct {
	BathCount, BathPartialCount, BedroomsCount, BonusRoomFlag, BreakfastNookFlag, CellarFlag, CellarWineFlag, FamilyCode, GameFlag, GreatFlag,
	HobbyFlag, LaundryFlag, MediaFlag, MudFlag, OfficeArea, OfficeFlag, RoomsCount, SafeRoomFlag, SittingFlag, StoriesCount, StormFlag,
	StudyFlag, SunroomFlag, UnitsCount, UtilityArea, UtilityCode string
	ExerciseFlag string `json:"ExcerciseFlag" also:"ExerciseFlag"`
	Unknown      wire.Object
}

// IntAmenities describes the amenities inside. The service misspells the two
// accessibility flags.
type IntAmenities struct {
	CentralVacuumFlag, EscalatorFlag, Fireplace, FireplaceCount,
	IntercomFlag, SecurityAlarmFlag, SoundSystemFlag, WetBarFlag string

	AccessibilityElevatorFlag string `json:"AccessabilityElevatorFlag" also:"AccessibilityElevatorFlag"`
	AccessibilityHandicapFlag string `json:"AccessabilityHandicapFlag" also:"AccessibilityHandicapFlag"`
	Unknown                   wire.Object
}

// ExtStructInfo describes the structure outside.
type ExtStructInfo struct {
	Exterior1Code, OverheadDoorFlag, RoofConstruction,
	RoofMaterial, StormShutterFlag, StructureStyle string
	Unknown wire.Object
}

// ExtAmenities describes the amenities outside.
type ExtAmenities struct {
	BalconyArea, BreezewayFlag, DeckArea, DeckFlag, FeatureBalconyFlag,
	PatioArea, PorchArea, PorchCode, ViewDescription string
	Unknown wire.Object
}

// ExtBuildings holds the other buildings on the land. BoatAccessFlag is deprecated.
type ExtBuildings struct {
	BathHouseArea, BathHouseFlag, BoatAccessFlag, BoatHouseArea, BoatHouseFlag, BuildingsCount, CabinArea, CabinFlag, CanopyArea, CanopyFlag,
	GazeboArea, GazeboFlag, GranaryArea, GranaryFlag, GreenHouseArea, GreenHouseFlag, GuestHouseArea, GuestHouseFlag, KennelArea, KennelFlag,
	LeanToArea, LeanToFlag, LoadingPlatformArea, LoadingPlatformFlag, MilkHouseArea, MilkHouseFlag, OutdoorKitchenFireplaceFlag,
	PoleStructureArea, PoleStructureFlag, PoolHouseArea, PoolHouseFlag, PoultryHouseArea, PoultryHouseFlag, QuonsetArea, QuonsetFlag, ShedArea,
	ShedCode, SiloArea, SiloFlag, StableArea, StableFlag, StorageBuildingArea, StorageBuildingFlag, UtilityBuildingArea, UtilityBuildingFlag string
	Unknown wire.Object
}

// Utilities describes heating, cooling, water and sewage.
type Utilities struct {
	HVACCoolingDetail, HVACHeatingDetail, HVACHeatingFuel,
	MobileHomeHookupFlag, SewageUsage, WaterSource string
	Unknown wire.Object
}

// Parking describes the driveway and the parking spaces.
type Parking struct {
	DrivewayArea, DrivewayMaterial, ParkingSpaceCount, RVParkingFlag string
	Unknown                                                          wire.Object
}

// YardGardenInfo describes the yard and the garden.
type YardGardenInfo struct {
	ArborPergolaFlag, ArenaFlag, BoatLiftFlag, CourtyardArea, CourtyardFlag, FenceArea, FenceCode, GolfCourseGreenFlag, PondFlag,
	SportsCourtFlag, SprinklersFlag, TennisCourtFlag, TopographyCode, WaterFeatureFlag string
	Unknown wire.Object
}

// EstimatedValue is an estimate of the property's value.
type EstimatedValue struct {
	ConfidenceScore, EstimatedMaxValue,
	EstimatedMinValue, EstimatedValue, ValuationDate string
	Unknown wire.Object
}

// Shape is the outline of the land, as well-known text.
type Shape struct {
	WellKnownText string
	Unknown       wire.Object
}
