package listing

import "syncd/internal/clients/service"

// Filters narrow a list. Each group has some of them, see Operations. A filter
// that the group does not have is an *service.InputError. Empty filters are not
// sent.
type Filters struct {
	Zips      []Zip    `json:",omitempty"`
	Cities    []City   `json:",omitempty"`
	Radius    *Radius  `json:",omitempty"` // Includes only
	ShapeWKTs []string `json:",omitempty"` // Includes only: "POLYGON((longitude latitude, ...))"

	// Keys, with the vendor's word on the wire.
	PrefixAddressKey             []string `json:"{Prefix}AddressKey,omitempty"`
	BasePrefixAddressKey         []string `json:"Base{Prefix}AddressKey,omitempty"`
	PreviousPrefixAddressKey     []string `json:"Previous{Prefix}AddressKey,omitempty"`
	PreviousBasePrefixAddressKey []string `json:"PreviousBase{Prefix}AddressKey,omitempty"`

	// Places.
	RBDI                                                     []string `json:",omitempty"` // "R" residence, "B" business
	Address, AddressLines, Street, State, Plus4              []string `json:",omitempty"`
	AddressKey, ResultCodes, CarrierRoute, DeliveryPoint     []string `json:",omitempty"`
	FIPSCode, CountyName, PlaceCode, CensusKey, GeoLevel     []string `json:",omitempty"`
	CBSACode, CBSALevel, CSACode, Latitude, Longitude        []string `json:",omitempty"`
	AddressStreetName                                        []Street `json:",omitempty"`
	POBoxStyleAddress, ZipIncludedIn3553, DropInd, Throwback []bool   `json:",omitempty"`
	DeliveryDaysFlag, NonDeliveryDaysFlag, NoStatInd         []bool   `json:",omitempty"`
	NoSecureLocation, DoorNotAccessible, FalseTable          []bool   `json:",omitempty"`
	BaseRecord, NonUSPS, CommercialMailReceivingAgency       []bool   `json:",omitempty"`

	// Persons, and where they moved from.
	FullName, FirstName, MiddleName, LastName, PhoneNumber        []string `json:",omitempty"`
	PreviousAddressLine, PreviousSuite, PreviousCities            []string `json:",omitempty"`
	PreviousCountyName, PreviousState, PreviousZIPCode            []string `json:",omitempty"`
	PreviousAddressKey, PreviousPlus4, PreviousResultCodes        []string `json:",omitempty"`
	PreviousLatitude, PreviousLongitude                           []string `json:",omitempty"`
	MoveEffectiveDate                                             *Dates   `json:",omitempty"` // 2023/01/01
	AgeRange, AgeRangeMale, AgeRangeFemale, AgeRangeUnknownGender *Range   `json:",omitempty"`

	// Households, homes and their sales.
	EstimatedHouseholdIncomeCode, EstimatedHousingValueCode              []string `json:",omitempty"`
	DwellingCodeNormal, ConstructionTypeCode, NetWorthGoldRank           []string `json:",omitempty"`
	PurchasePrice, Lender, MortgageAmount, RateType, LoanType, CondoCode []string `json:",omitempty"`
	AgeOfHouseholdCode, HomeownershipCode, PresenceOfChildrenCode        []int    `json:",omitempty"`
	DwellingCodeSpecific, MoveDistanceCode, TransactionType              []int    `json:",omitempty"`
	SellDate, PublishedDate                                              *Dates   `json:",omitempty"` // 2023-01-01

	// Businesses and their contacts.
	PrimarySICCodeId, SecondarySicCodeIds, NAICSCode1, NAICSCode2            []string   `json:",omitempty"`
	Email, EmailDeliverableInd, Website, LanguagesSpoken, RestaurantCuisines []string   `json:",omitempty"`
	JobTitles, JobFunctionId, LabelsJobFunctionId, TitleCodes                []string   `json:",omitempty"`
	TitleCodesLabels, ProfessionalTitle, LabelsProfessionalTitle             []string   `json:",omitempty"`
	ManagementLevelLabels, OpenedForBusinessOn                               []string   `json:",omitempty"`
	CorporateSalesRevenue, EstimatedCorporateSalesRevenue                    []string   `json:",omitempty"`
	ContactEmail, ContactEmailDeliverableInd, ContactGender                  []string   `json:",omitempty"`
	ContactJobFunctionId, ContactJobTitles, ContactJobTitlesCount            []string   `json:",omitempty"`
	ContactManagementLevel, ContactProfessionalTitle, ContactIndicator       []string   `json:",omitempty"`
	ContactSuppressedFields, ContactTitleCodes                               []string   `json:",omitempty"`
	CorporateEmployeeCount, EstimatedCorporateEmployeeCount                  *Range     `json:",omitempty"`
	LocationEmployeeCount, EstimatedLocationEmployeeCount                    *Range     `json:",omitempty"`
	LocationSalesVolume                                                      *Range     `json:",omitempty"`
	EstimatedOpenedForBusiness                                               *TextRange `json:",omitempty"`
	EmailMarketableInd, ContactEmailMarketableInd                            *bool      `json:",omitempty"`
	WorkAtHome, CorporateFranchising                                         *bool      `json:",omitempty"`
}

// Zip is a ZIP code or a part of it.
type Zip struct {
	Zip                 string
	Plus4, CarrierRoute string `json:",omitempty"`
}

// City is a city; State has two letters.
type City struct{ City, State string }

// Street is a street by name, in one ZIP code or in all.
type Street struct {
	ZipCode, Street string `json:",omitempty"`
}

// Radius is a circle around a point.
type Radius struct {
	service.Point
	Distance service.Decimal // in miles
}

// Range is a range of whole numbers that includes both ends. A nil end is open.
type Range struct {
	Minimum *int `json:"minimum,omitempty"`
	Maximum *int `json:"maximum,omitempty"`
}

// TextRange is a range of texts.
type TextRange struct {
	Minimum string `json:"minimum,omitempty"`
	Maximum string `json:"maximum,omitempty"`
}

// Dates is a range of days, in the format of the filter.
type Dates struct {
	StartDate, EndDate string `json:",omitempty"`
}
