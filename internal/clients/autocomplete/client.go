// Package autocomplete is the client of the address auto-complete service:
// SPEC.md, section "Address auto-complete service", with the facts of the wire.
package autocomplete

import (
	"context"

	"syncd/internal/clients/service"
	"syncd/internal/clients/wire"
)

// Client completes addresses. Nothing found is an answer without results and no
// error. Errors are *service.InputError before anything is sent,
// *service.AnswerError for an answer with an error code, with which the response
// is returned too, and those of transport.Client. Safe for concurrent use.
type Client struct{ *service.Client }

// AddressRequest asks for the addresses that a street line can become.
type AddressRequest struct {
	Country                                  string // two-letter code or name; US when not given
	Address1, Address2                       string
	Locality, AdministrativeArea, PostalCode string
	Common
	NativeCharset service.Flag // True for native script, False for Latin
	Details
}

// FreeFormRequest asks for the addresses that a text can become. Filters that
// have no field are sent through Form.Extra.
type FreeFormRequest struct {
	Country, FreeForm string
	Common
	NativeCharset service.Flag
	Details
	FilterTerm string // "zip" or "latlong"
	FilterList string // a ZIP code; "latitude,longitude"
	SortType   string // "distance"
}

// LocalityRequest asks for cities with their states.
type LocalityRequest struct {
	Country, Locality, AdministrativeArea, PostalCode string
	Common
	NativeCharset service.Flag
}

// PostalCodeRequest asks for the cities and states of a postal code.
type PostalCodeRequest struct {
	Country, PostalCode string
	Common
}

// ThoroughfareRequest asks for streets: by their beginning, of at least 3
// characters, or by the postal code, or both.
type ThoroughfareRequest struct {
	Country, PostalCode, Thoroughfare string
	Common
}

// Common is what all of them may have.
type Common struct {
	MaxRecords       int          `json:",omitempty"` // up to 100; 10 when 0
	DiacriticReplace service.Flag // True strips accents
}

// Details say what of addresses is told.
type Details struct {
	Columns          service.List // "gbextras", "results": they fill Extras
	Options          service.List // POBoxes, NoPOBoxes
	SuiteCompression service.Flag // False for a record for each unit of a building
}

// Options of addresses in the United States.
const (
	POBoxes   = "poboxes:true"
	NoPOBoxes = "poboxes:false"
)

// Envelope is what all responses have.
type Envelope struct {
	service.Answer `json:"-"`
	Version        string
	ResultCode     service.Codes // XS01 all results, XS02 cut at MaxRecords, XS03 none
	ErrorString    string
	Unknown        wire.Object
}

// Response answers all operations but Country.
type Response struct {
	Envelope
	Results []Result
}

// Result holds one address.
type Result struct {
	Address Address
	Unknown wire.Object
}

// Address is a completed address, or as much of one as was asked for. With suite
// compression the units of a building share one: SubBuilding,
// PostalCodeSecondary and MAK then hold as many items with commas between.
// GeneralDelivery is deprecated.
type Address struct {
	Address, Address1, Address2, Address3, Address4, Address5, Address6      string // Address is all of it in one line
	Address7, Address8, Address9, Address10, Address11, Address12            string
	DeliveryAddress, DeliveryAddress1, DeliveryAddress2, DeliveryAddress3    string
	DeliveryAddress4, DeliveryAddress5, DeliveryAddress6, DeliveryAddress7   string
	DeliveryAddress8, DeliveryAddress9, DeliveryAddress10, DeliveryAddress11 string
	DeliveryAddress12, CountryName, ISO3166_2, ISO3166_3, ISO3166_N          string
	SuperAdministrativeArea, AdministrativeArea, SubAdministrativeArea       string
	Locality, CityAccepted, CityNotAccepted                                  string
	DependentLocality, DoubleDependentLocality                               string
	Thoroughfare, DependentThoroughfare, Building, Premise, SubBuilding      string
	PostalCode, PostalCodePrimary, PostalCodeSecondary                       string
	Organization, PostBox, Unmatched, GeneralDelivery                        string
	DeliveryInstallation, Route, AdditionalContent, CountrySubdivisionCode   string
	MAK, BaseMAK                                                             string
	Latitude, Longitude                                                      string // only for customers with geocoding
	DistanceFromPoint                                                        float64
	Extras                                                                   Extras
	Unknown                                                                  wire.Object
}

// Extras are what Columns asked for.
type Extras struct {
	UDPRN, UPRN          string // GB
	AddrObjectResultCode string // US
	Unknown              wire.Object
}

// CountryResponse answers Country.
type CountryResponse struct {
	Envelope
	Results []Country
}

// Country is a country by its names; Country is the one that matched.
type Country struct {
	Country, English, Spanish, French, German, SimplifiedChinese string
	Char2ISO, Char3ISO, ISONumeric                               string
	Unknown                                                      wire.Object
}

// Address completes a street line. A call of PostalCode normally goes before it.
func (c *Client) Address(ctx context.Context, req AddressRequest, form service.Form) (*Response, error) {
	return service.Do[Response](ctx, c.Client, address, form, req)
}

// FreeForm completes a text.
func (c *Client) FreeForm(ctx context.Context, req FreeFormRequest, form service.Form) (*Response, error) {
	return service.Do[Response](ctx, c.Client, freeForm, form, req)
}

// LocalityAdministrativeArea finds cities with their states.
func (c *Client) LocalityAdministrativeArea(ctx context.Context, req LocalityRequest, form service.Form) (*Response, error) {
	return service.Do[Response](ctx, c.Client, localityAdministrativeArea, form, req)
}

// PostalCode finds the cities and states of a postal code.
func (c *Client) PostalCode(ctx context.Context, req PostalCodeRequest, form service.Form) (*Response, error) {
	return service.Do[Response](ctx, c.Client, postalCode, form, req)
}

// Thoroughfare finds streets.
func (c *Client) Thoroughfare(ctx context.Context, req ThoroughfareRequest, form service.Form) (*Response, error) {
	return service.Do[Response](ctx, c.Client, thoroughfare, form, req)
}

// Country finds countries by a part of their name, in any of five languages.
func (c *Client) Country(ctx context.Context, term string, form service.Form) (*CountryResponse, error) {
	return service.Do[CountryResponse](ctx, c.Client, country, form, struct{ Country string }{term})
}
