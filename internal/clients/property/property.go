package property

import (
	"syncd/internal/clients/service"
	"syncd/internal/clients/wire"
)

// Property is a record of LookupProperty. A sub-object that was not asked for
// is blank. Each has the name of its group without Grp, and its members those
// of the columns.
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

// Names are those of the first two people or firms of a role.
type Names struct {
	Name1First, Name1Full, Name1Last, Name1Middle, Name1Suffix, Name2First,
	Name2Full, Name2Last, Name2Middle, Name2Suffix string
}

// FurtherNames are those of the third and the fourth.
type FurtherNames struct {
	Name3First, Name3Full, Name3Last, Name3Middle, Name3Suffix, Name4First,
	Name4Full, Name4Last, Name4Middle, Name4Suffix string
}

// Parcel is what the assessor calls the land. APNYearChange, NeighborhoodCode
// and YearAdded are deprecated.
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

// Address is where the property is.
type Address struct {
	Address, AddressKey, BaseMAK, CarrierRoute, City, Latitude,
	Longitude, MAK, PrivacyInfo, State, Zip string
	Unknown wire.Object
}

// ParsedPropertyAddress is the same in parts.
type ParsedPropertyAddress struct {
	PostDirectional, PreDirectional, Range,
	StreetName, Suffix, SuiteName, SuiteRange string
	Unknown wire.Object
}

// PrimaryOwner is who owns the property. Type is deprecated.
type PrimaryOwner struct {
	Names
	CompanyFlag, TrustFlag, Type, VestingType string
	IdentityKey1                              string `json:"{Prefix}IdentityKey1"`
	IdentityKey2                              string `json:"{Prefix}IdentityKey2"`
	Unknown                                   wire.Object
}

// SecondaryOwner is who else does. All of it is deprecated.
type SecondaryOwner struct {
	FurtherNames
	Type    string
	Unknown wire.Object
}

// OwnerAddress is where the owner gets post.
type OwnerAddress struct {
	Address, BaseMAK, CarrierRoute, City, FormatInfo, MAK,
	OwnerOccupied, PrivacyInfo, State, Zip string
	Unknown wire.Object
}

// LastDeedOwnerInfo is who the last deed names. FurtherNames are deprecated
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

// Tax is the assessment and the tax. PreviousAssessedValue is deprecated.
type Tax struct {
	AssessedImprovementsPerc, AssessedValueImprovements, AssessedValueLand, AssessedValueTotal, AssrLastUpdated, LastTaxRollUpdate,
	MarketImprovementsPerc, MarketValueImprovements, MarketValueLand, MarketValueTotal, MarketValueYear, PreviousAssessedValue, TaxBilledAmount,
	TaxDelinquentYear, TaxExemptionAdditional, TaxExemptionDisabled, TaxExemptionHomeowner, TaxExemptionSenior, TaxExemptionVeteran,
	TaxExemptionWidow, TaxFiscalYear, TaxRateArea, YearAssessed string
	Unknown wire.Object
}

// UseInfo is what the property is used for. GrpTax asks for it too.
type UseInfo struct {
	PropertyUseGroup, PropertyUseMuni, PropertyUseStandardized,
	YearBuilt, YearBuiltEffective, ZonedCodeLocal string
	Unknown wire.Object
}

// SaleInfo is the last sales. DeedLastSaleTxID and LastOwnershipTransferTxID
// are deprecated.
type SaleInfo struct {
	AssessorLastSaleAmount, AssessorLastSaleDate, AssessorPriorSaleAmount, AssessorPriorSaleDate, DeedLastDocumentNumber, DeedLastSaleDate,
	DeedLastSaleDocumentBook, DeedLastSaleDocumentPage, DeedLastSalePrice, DeedLastSaleTxID, LastOwnershipTransferDate,
	LastOwnershipTransferDocumentNumber, LastOwnershipTransferTxID string
	Unknown wire.Object
}

// Size is the areas of land and building.
type Size struct {
	Area1stFloor, Area2ndFloor, AreaBuilding, AreaBuildingDefinitionCode, AreaGross, AreaLotAcres, AreaLotSF, AreaUpperFloors, AtticArea,
	AtticFlag, BasementArea, BasementAreaFinished, BasementAreaUnfinished, LotDepth, LotWidth, ParkingCarport, ParkingCarportArea, ParkingGarage,
	ParkingGarageArea string
	Unknown wire.Object
}

// Pool is the pool.
type Pool struct {
	Pool, PoolArea, SaunaFlag string
	Unknown                   wire.Object
}

// IntStructInfo is how the building is made inside.
type IntStructInfo struct {
	Construction, ConstructionFireResistanceClass, FlooringMaterialPrimary, Foundation, InteriorStructure, PlumbingFixturesCount,
	SafetyFireSprinklersFlag string
	Unknown wire.Object
}

// IntRoomInfo is the rooms. CellarWineFlag is deprecated; the wire misspells
// ExerciseFlag.
type IntRoomInfo struct {
	BathCount, BathPartialCount, BedroomsCount, BonusRoomFlag, BreakfastNookFlag, CellarFlag, CellarWineFlag, FamilyCode, GameFlag, GreatFlag,
	HobbyFlag, LaundryFlag, MediaFlag, MudFlag, OfficeArea, OfficeFlag, RoomsCount, SafeRoomFlag, SittingFlag, StoriesCount, StormFlag,
	StudyFlag, SunroomFlag, UnitsCount, UtilityArea, UtilityCode string
	ExerciseFlag string `json:"ExcerciseFlag" also:"ExerciseFlag"`
	Unknown      wire.Object
}

// IntAmenities is what there is inside. The wire misspells the two flags of
// accessibility.
type IntAmenities struct {
	CentralVacuumFlag, EscalatorFlag, Fireplace, FireplaceCount,
	IntercomFlag, SecurityAlarmFlag, SoundSystemFlag, WetBarFlag string

	AccessibilityElevatorFlag string `json:"AccessabilityElevatorFlag" also:"AccessibilityElevatorFlag"`
	AccessibilityHandicapFlag string `json:"AccessabilityHandicapFlag" also:"AccessibilityHandicapFlag"`
	Unknown                   wire.Object
}

// ExtStructInfo is how the building is made outside.
type ExtStructInfo struct {
	Exterior1Code, OverheadDoorFlag, RoofConstruction,
	RoofMaterial, StormShutterFlag, StructureStyle string
	Unknown wire.Object
}

// ExtAmenities is what is built onto it.
type ExtAmenities struct {
	BalconyArea, BreezewayFlag, DeckArea, DeckFlag, FeatureBalconyFlag,
	PatioArea, PorchArea, PorchCode, ViewDescription string
	Unknown wire.Object
}

// ExtBuildings is what else stands on the land. BoatAccessFlag is deprecated.
type ExtBuildings struct {
	BathHouseArea, BathHouseFlag, BoatAccessFlag, BoatHouseArea, BoatHouseFlag, BuildingsCount, CabinArea, CabinFlag, CanopyArea, CanopyFlag,
	GazeboArea, GazeboFlag, GranaryArea, GranaryFlag, GreenHouseArea, GreenHouseFlag, GuestHouseArea, GuestHouseFlag, KennelArea, KennelFlag,
	LeanToArea, LeanToFlag, LoadingPlatformArea, LoadingPlatformFlag, MilkHouseArea, MilkHouseFlag, OutdoorKitchenFireplaceFlag,
	PoleStructureArea, PoleStructureFlag, PoolHouseArea, PoolHouseFlag, PoultryHouseArea, PoultryHouseFlag, QuonsetArea, QuonsetFlag, ShedArea,
	ShedCode, SiloArea, SiloFlag, StableArea, StableFlag, StorageBuildingArea, StorageBuildingFlag, UtilityBuildingArea, UtilityBuildingFlag string
	Unknown wire.Object
}

// Utilities is heating, cooling and water.
type Utilities struct {
	HVACCoolingDetail, HVACHeatingDetail, HVACHeatingFuel,
	MobileHomeHookupFlag, SewageUsage, WaterSource string
	Unknown wire.Object
}

// Parking is the places for cars.
type Parking struct {
	DrivewayArea, DrivewayMaterial, ParkingSpaceCount, RVParkingFlag string
	Unknown                                                          wire.Object
}

// YardGardenInfo is what the land has.
type YardGardenInfo struct {
	ArborPergolaFlag, ArenaFlag, BoatLiftFlag, CourtyardArea, CourtyardFlag, FenceArea, FenceCode, GolfCourseGreenFlag, PondFlag,
	SportsCourtFlag, SprinklersFlag, TennisCourtFlag, TopographyCode, WaterFeatureFlag string
	Unknown wire.Object
}

// EstimatedValue is what the property may be worth.
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
