package property

import "syncd/internal/clients/wire"

// Deed is a record of LookupDeeds, with sub-objects as those of Property.
type Deed struct {
	DocInfo          DocInfo
	TxDefInfo        TxDefInfo
	TxAmtInfo        TxAmtInfo
	PrimaryGrantor   Parties
	PrimaryGrantee   Parties
	SecondaryGrantor FurtherParties
	SecondaryGrantee FurtherParties
	TitleCompInfo    TitleCompInfo
	Mortgage1        Mortgage
	Mortgage2        Mortgage
	Valuation        Valuation
	PropertyAddress  Address
	Unknown          wire.Object
}

// DocInfo is the deed. NumberFormatted and NumberLegacy are deprecated.
type DocInfo struct {
	Book, InstrumentDate, InstrumentNumber, NumberFormatted,
	NumberLegacy, Page, RecordingDate, TypeCode string
	Unknown wire.Object
}

// TxDefInfo is the kind of transaction. TransferInfoDistressCircumstanceCode
// and TransferInfoPurchaseTypeCode are deprecated.
type TxDefInfo struct {
	ArmsLengthFlag, ForeclosureAuctionSale, PartialInterest, QuitclaimFlag, TransactionType, TransferInfoDistressCircumstanceCode,
	TransferInfoMultiParcelFlag, TransferInfoPurchaseTypeCode string
	Unknown wire.Object
}

// TxAmtInfo is what was paid. TransferTaxCounty is deprecated.
type TxAmtInfo struct {
	TransferAmount, TransferAmountInfoAccuracy,
	TransferTaxCounty, TransferTaxTotal string
	Unknown wire.Object
}

// Parties are who gives or who takes. Name2LegalType comes with grantors only.
// The class and legal types of grantors are deprecated, those of grantees not.
type Parties struct {
	Names
	Name1ClassType, Name1LegalType, Name2ClassType, Name2LegalType string
	Unknown                                                        wire.Object
}

// FurtherParties are who else does. All of them are deprecated.
type FurtherParties struct {
	FurtherNames
	Name3ClassType, Name4ClassType string
	Unknown                        wire.Object
}

// TitleCompInfo is the title company. StandardizedCode is deprecated.
type TitleCompInfo struct {
	StandardizedCode, StandardizedName, TitleCompanyRaw string
	Unknown                                             wire.Object
}

// Mortgage is one of the two that may come with a deed. Deprecated are
// DocNumberLegacy, FixedStepConvRate, InterestIndex, InterestTypeInitial,
// LenderAddress, LenderCity, LenderCode, LenderState, LenderType, LenderZip,
// MaxInterestRateFirstChange, MinInterestRateFirstChange, PrepaymentTerm, Term,
// TermType, and of the second LenderFirstName and LenderLastName.
type Mortgage struct {
	AdjustableRateIndex, AdjustableRateRiderFlag, Amount, Book, DocNumberFormatted, DocNumberLegacy, FixedStepConvRate, InstrumentNumber,
	InterestChangeFreq, InterestIndex, InterestMargin, InterestOnlyFlag, InterestOnlyPeriod, InterestRate, InterestRateMax, InterestRateType,
	InterestTypeChangeDate, InterestTypeInitial, IsLenderSeller, LenderAddress, LenderCity, LenderCode, LenderFirstName, LenderFullName,
	LenderLastName, LenderState, LenderType, LenderZip, MaxInterestRateFirstChange, MinInterestRateFirstChange, Page, PrepaymentPenaltyFlag,
	PrepaymentTerm, RecordingDate, Term, TermDate, TermType, Type string
	Unknown wire.Object
}

// Valuation is estimates about the loan. All of it is deprecated.
type Valuation struct {
	EstDownPayment, EstLTV string
	Unknown                wire.Object
}
