package listing

// filterNames are the filters of each group, docs/wire/list.md, "Includes per
// group". A filter on a value that the world lacks is accepted and has no effect.
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
