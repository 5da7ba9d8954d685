package property

import "syncd/internal/clients/wire"

// Deed is a record of LookupDeeds. Its sub-objects follow the rules of Property.
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

// DocInfo describes the recorded document. NumberFormatted and NumberLegacy are deprecated.
type DocInfo struct {
	Book, InstrumentDate, InstrumentNumber, NumberFormatted,
	NumberLegacy, Page, RecordingDate, TypeCode string
	Unknown wire.Object
}

// TxDefInfo describes the transaction. TransferInfoDistressCircumstanceCode
// and TransferInfoPurchaseTypeCode are deprecated.
type TxDefInfo struct {
	ArmsLengthFlag, ForeclosureAuctionSale, PartialInterest, QuitclaimFlag, TransactionType, TransferInfoDistressCircumstanceCode,
	TransferInfoMultiParcelFlag, TransferInfoPurchaseTypeCode string
	Unknown wire.Object
}

// TxAmtInfo holds the amounts that were paid. TransferTaxCounty is deprecated.
type TxAmtInfo struct {
	TransferAmount, TransferAmountInfoAccuracy,
	TransferTaxCounty, TransferTaxTotal string
	Unknown wire.Object
}

// Parties are the grantors or the grantees. Only grantors have a Name2LegalType.
// The class and legal types of grantors are deprecated, those of grantees are not.
type Parties struct {
	Names
	Name1ClassType, Name1LegalType, Name2ClassType, Name2LegalType string
	Unknown                                                        wire.Object
}

// FurtherParties are the third and fourth grantor or grantee. All are deprecated.
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

// Mortgage is one of up to two mortgages of a deed. These members are deprecated:
// DocNumberLegacy, FixedStepConvRate, InterestIndex, InterestTypeInitial,
// LenderAddress, LenderCity, LenderCode, LenderState, LenderType, LenderZip,
// MaxInterestRateFirstChange, MinInterestRateFirstChange, PrepaymentTerm, Term,
// TermType; and in Mortgage2 also LenderFirstName and LenderLastName.
type Mortgage struct {
	AdjustableRateIndex, AdjustableRateRiderFlag, Amount, Book, DocNumberFormatted, DocNumberLegacy, FixedStepConvRate, InstrumentNumber,
	InterestChangeFreq, InterestIndex, InterestMargin, InterestOnlyFlag, InterestOnlyPeriod, InterestRate, InterestRateMax, InterestRateType,
	InterestTypeChangeDate, InterestTypeInitial, IsLenderSeller, LenderAddress, LenderCity, LenderCode, LenderFirstName, LenderFullName,
	LenderLastName, LenderState, LenderType, LenderZip, MaxInterestRateFirstChange, MinInterestRateFirstChange, Page, PrepaymentPenaltyFlag,
	PrepaymentTerm, RecordingDate, Term, TermDate, TermType, Type string
	Unknown wire.Object
}

// Valuation holds estimates about the loan. All of it is deprecated.
type Valuation struct {
	EstDownPayment, EstLTV string
	Unknown                wire.Object
}
