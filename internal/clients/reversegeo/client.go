package reversegeo

import (
	"context"

	"syncd/internal/clients/service"
	"syncd/internal/clients/wire"
)

// Client finds addresses and postal codes near a point. Errors are
// *service.InputError before anything is sent, *service.AnswerError for an
// answer with an error code, and those of transport.Client. The response is
// returned with an *AnswerError too. An answer without records is a success.
// Safe for concurrent use.
type Client struct{ *service.Client }

// Bounds holds the inputs that all requests share.
type Bounds struct {
	TransmissionReference string          `json:",omitempty"` // echoed in the response
	MaxDistance           service.Decimal `json:",omitempty"` // in miles; 0 means the most, 10
	MaxRecords            int             `json:",omitempty"` // 0 means the most, 100
}

// DoLookup asks for the addresses nearest to a point.
type DoLookup struct {
	*service.Point
	Bounds
	Options service.List `json:",omitempty"` // "IncludeApartments:On", "IncludeEmptyLots:On", "IncludeUndeliverable:Off"
}

// DoLookupPostalCodes asks for the postal codes nearest to a point.
type DoLookupPostalCodes struct {
	*service.Point
	Bounds
	Options service.List `json:",omitempty"` // "Level:" with PostalCode, CarrierRoute or Plus4
}

// DoLookupFromList asks for the targets nearest to an origin. The origin is a
// point or an address key, not both.
type DoLookupFromList struct {
	*service.Point
	AddressKey string `json:"{Prefix}AddressKey,omitempty"`
	Bounds
	Options service.List `json:",omitempty"` // as in DoLookup
	Records []Target
}

// Target is an address whose distance from the origin is wanted.
type Target struct {
	AddressKey string `json:"{Prefix}AddressKey"`
	RecordID   string // the caller's; echoed
}

// Envelope holds the members that all responses share.
type Envelope struct {
	service.Answer                 `json:"-"`
	Version, TransmissionReference string
	TransmissionResults            service.Codes // about the request
	Results                        service.Codes // GS07 says that there are records
	TotalRecords                   int64
	Unknown                        wire.Object
}

// Addresses answers DoLookup and DoLookupFromList, the nearest first.
type Addresses struct {
	Envelope
	Records []Address
}

// Address is one address near the origin. AddressKey is its ZIP code, Plus4 and
// delivery point.
type Address struct {
	RecordID                                         string // of the target, with DoLookupFromList
	AddressLine1, SuiteName, City, State, PostalCode string
	SuiteCount                                       int64
	AddressKey                                       string
	Place
	Key     string `json:"{Prefix}AddressKey"`
	BaseKey string `json:"{Prefix}AddressKeyBase"` // of the building; "0" if there is none
	Unknown wire.Object
}

// PostalCodes answers DoLookupPostalCodes, the nearest first.
type PostalCodes struct {
	Envelope
	Records []PostalCode
}

// PostalCode is one postal code near the point, of the requested level.
// CarrierRoute is blank if the level has none.
type PostalCode struct {
	City, State, PostalCode, CarrierRoute string
	Place
	Unknown wire.Object
}

// Place is the place of a record.
type Place struct {
	Latitude  service.Decimal `also:"Laitude"` // the provider's own SDK has this spelling too
	Longitude service.Decimal
	Distance  service.Decimal // from the origin, in miles
}

// DoLookup finds the nearest addresses.
func (c *Client) DoLookup(ctx context.Context, req DoLookup, form service.Form) (*Addresses, error) {
	return service.Do[Addresses](ctx, c.Client, doLookup, form, req)
}

// DoLookupPostalCodes finds the nearest postal codes.
func (c *Client) DoLookupPostalCodes(ctx context.Context, req DoLookupPostalCodes, form service.Form) (*PostalCodes, error) {
	return service.Do[PostalCodes](ctx, c.Client, doLookupPostalCodes, form, req)
}

// DoLookupFromList finds the nearest of the targets.
func (c *Client) DoLookupFromList(ctx context.Context, req DoLookupFromList, form service.Form) (*Addresses, error) {
	return service.Do[Addresses](ctx, c.Client, doLookupFromList, form, req)
}
