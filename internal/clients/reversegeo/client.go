// Package reversegeo is the client of the reverse geocoding service: SPEC.md,
// section "Reverse geocoding service", with the facts of the wire.
package reversegeo

import (
	"context"

	"syncd/internal/clients/service"
	"syncd/internal/clients/wire"
)

// Client finds what is near a point. Errors are *service.InputError before
// anything is sent, *service.AnswerError for an answer with an error code, with
// which the response is returned too, and those of transport.Client. An answer
// without records is no error. Safe for concurrent use.
type Client struct{ *service.Client }

// Bounds is what all requests may have.
type Bounds struct {
	TransmissionReference string          `json:",omitempty"` // echoed in the response
	MaxDistance           service.Decimal `json:",omitempty"` // miles, at most 10; 0 leaves it at that
	MaxRecords            int             `json:",omitempty"` // at most 100; 0 leaves it at that
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

// DoLookupFromList asks which of the targets are nearest to the origin, which is
// either a point or the address of a key, not both.
type DoLookupFromList struct {
	*service.Point
	AddressKey string `json:"{Prefix}AddressKey,omitempty"`
	Bounds
	Options service.List `json:",omitempty"` // as in DoLookup
	Records []Target
}

// Target is an address that is compared with the origin.
type Target struct {
	AddressKey string `json:"{Prefix}AddressKey"`
	RecordID   string // the caller's; echoed
}

// Envelope is what all responses have.
type Envelope struct {
	service.Answer                 `json:"-"`
	Version, TransmissionReference string
	TransmissionResults            service.Codes // about the request
	Results                        service.Codes // GS07 when there are records
	TotalRecords                   int64
	Unknown                        wire.Object
}

// Addresses answers DoLookup and DoLookupFromList, the nearest first.
type Addresses struct {
	Envelope
	Records []Address
}

// Address is one that is near. AddressKey is ZIP code, Plus4 and delivery point.
type Address struct {
	RecordID                                         string // of the target, with DoLookupFromList
	AddressLine1, SuiteName, City, State, PostalCode string
	SuiteCount                                       int64
	AddressKey                                       string
	Place
	Key     string `json:"{Prefix}AddressKey"`
	BaseKey string `json:"{Prefix}AddressKeyBase"` // of the building; "0" when there is none
	Unknown wire.Object
}

// PostalCodes answers DoLookupPostalCodes, the nearest first.
type PostalCodes struct {
	Envelope
	Records []PostalCode
}

// PostalCode is one that is near, of the level that was asked for. CarrierRoute
// is blank where the level has none.
type PostalCode struct {
	City, State, PostalCode, CarrierRoute string
	Place
	Unknown wire.Object
}

// Place is where something is.
type Place struct {
	Latitude  service.Decimal `also:"Laitude"`
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

// DoLookupFromList finds the nearest of the caller's addresses.
func (c *Client) DoLookupFromList(ctx context.Context, req DoLookupFromList, form service.Form) (*Addresses, error) {
	return service.Do[Addresses](ctx, c.Client, doLookupFromList, form, req)
}
