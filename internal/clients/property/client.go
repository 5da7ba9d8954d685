package property

import (
	"context"

	"syncd/internal/clients/service"
	"syncd/internal/clients/wire"
)

// Client looks up properties in the United States. Errors are
// *service.InputError before anything is sent, *service.AnswerError for an
// answer with an error code, and those of transport.Client. The response is
// returned with an *AnswerError too. An error code of one record is only in that
// record's Results. Safe for concurrent use.
type Client struct{ *service.Client }

// LookupProperty asks for up to 100 properties; a GET carries one.
type LookupProperty struct {
	TransmissionReference string       `json:",omitempty"` // echoed in the response
	Columns               service.List `json:",omitempty"` // groups or columns, e.g. "GrpParcel"
	Options               service.List `json:",omitempty"` // "Desc:on", "LatestMortgage:On"
	Records               []Record
}

// Record names a property by any one of: AddressKey; FIPS and APN; FIPS and
// Account; MAK; FreeForm; AddressLine1 and PostalCode; AddressLine1, City and
// State.
type Record struct {
	RecordID                                            string `json:",omitempty"` // POST only; echoed
	AddressLine1, AddressLine2, City, State, PostalCode string `json:",omitempty"`
	MAK, FIPS, APN                                      string `json:",omitempty"` // FIPS is the county, APN the parcel number
	FreeForm                                            string `json:",omitempty"` // address in one line
	AddressKey                                          string `json:",omitempty"` // 11 digits
	Account                                             string `json:",omitempty"` // the assessor's account number
	Country                                             string `json:",omitempty"` // US
}

// LookupDeeds asks for the deeds of one property, by any one of: FIPS and APN;
// PropertyMAK; FreeForm.
type LookupDeeds struct {
	TransmissionReference            string       `json:",omitempty"`
	Columns                          service.List `json:",omitempty"` // groups or columns, e.g. "GrpDocInfo"
	Options                          service.List `json:",omitempty"` // "Page:1", "RecordsPerPage:10"; a page has one record by default
	PropertyMAK, FIPS, APN, FreeForm string       `json:",omitempty"`
	TransactionID                    string       `json:",omitempty"` // deprecated
}

// LookupHomesByOwner asks for the homes of the owner at an address, named by its
// key or its text.
type LookupHomesByOwner struct {
	TransmissionReference, OwnerMAK, FreeForm string `json:",omitempty"`
}

// Envelope holds the members that all responses share. The provider does not say
// whether TotalRecords of deeds counts the page or all records.
type Envelope struct {
	service.Answer                 `json:"-"`
	Version, TransmissionReference string
	TotalRecords                   int64
	Unknown                        wire.Object
}

// Properties answers LookupProperty, with a record for each one in the request.
type Properties struct {
	Envelope
	TransmissionResults service.Codes // about the request
	Records             []Property
}

// Deeds answers LookupDeeds.
type Deeds struct {
	Envelope
	Results       service.Codes // about the request and the match
	TransactionID string        // deprecated
	Records       []Deed
}

// Homes answers LookupHomesByOwner.
type Homes struct {
	Envelope
	Results service.Codes // about the request and the match
	Records []Home
}

// Home is one home of an owner. PropertyAddress is a line of text here.
type Home struct {
	APN, BaseMAK, FIPS, MAK,
	PropertyAddress, PropertyCity, PropertyPlus4, PropertyState, PropertyZip string
	Unknown wire.Object
}

// LookupProperty looks up properties.
func (c *Client) LookupProperty(ctx context.Context, req LookupProperty, form service.Form) (*Properties, error) {
	return service.Do[Properties](ctx, c.Client, lookupProperty, form, req)
}

// LookupDeeds looks up the deeds of a property.
func (c *Client) LookupDeeds(ctx context.Context, req LookupDeeds, form service.Form) (*Deeds, error) {
	return service.Do[Deeds](ctx, c.Client, lookupDeeds, form, req)
}

// LookupHomesByOwner looks up the homes of an owner.
func (c *Client) LookupHomesByOwner(ctx context.Context, req LookupHomesByOwner, form service.Form) (*Homes, error) {
	return service.Do[Homes](ctx, c.Client, lookupHomesByOwner, form, req)
}
