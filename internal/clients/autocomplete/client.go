package autocomplete

import (
	"context"

	"syncd/internal/clients/service"
	"syncd/internal/clients/wire"
)

// Client completes addresses. Errors are *service.InputError before anything is
// sent, *service.AnswerError for an answer with an error code, and those of
// transport.Client. The response is returned with an *AnswerError too. An answer
// without results is a success. Safe for concurrent use.
type Client struct{ *service.Client }

// AddressRequest asks for the addresses that begin with a street line.
type AddressRequest struct {
	Country                                  string // two-letter code or name; US by default
	Address1, Address2                       string
	Locality, AdministrativeArea, PostalCode string
	Common
	NativeCharset service.Flag // True for native script, False for Latin
	Details
}

// FreeFormRequest asks for the addresses that match a text. Form.Extra carries
// filters without a field.
type FreeFormRequest struct {
	Country, FreeForm string
	Common
	NativeCharset service.Flag
	Details
	FilterTerm string // "zip" or "latlong"
	FilterList string // a ZIP code; "latitude,longitude"
	SortType   string // "distance"
}

// LocalityRequest asks for cities by name.
type LocalityRequest struct {
	Country, Locality, AdministrativeArea, PostalCode string
	Common
	NativeCharset service.Flag
}

// PostalCodeRequest asks for the cities of a postal code.
type PostalCodeRequest struct {
	Country, PostalCode string
	Common
}

// ThoroughfareRequest asks for streets by the beginning of their name (at least 3
// characters), by postal code, or by both.
type ThoroughfareRequest struct {
	Country, PostalCode, Thoroughfare string
	Common
}

// Common holds the inputs that most requests share.
type Common struct {
	MaxRecords       int          `json:",omitempty"` // up to 100; 0 means 10
	DiacriticReplace service.Flag // True strips accents
}

// Details choose the parts of an address in the answer.
type Details struct {
	Columns          service.List // "gbextras" and "results" add Extras
	Options          service.List // POBoxes, NoPOBoxes
	SuiteCompression service.Flag // False returns a record for each unit of a building
}

// Options for addresses in the United States.
const (
	POBoxes   = "poboxes:true"
	NoPOBoxes = "poboxes:false"
)

// Envelope holds the members that all responses share.
type Envelope struct {
	service.Answer `json:"-"`
	Version        string
	ResultCode     service.Codes // XS01 all results, XS02 cut at MaxRecords, XS03 none
	ErrorString    string
	Unknown        wire.Object
}

// Response answers all operations except Country.
type Response struct {
	Envelope
	Results []Result
}

// Result holds one address.
type Result struct {
	Address Address
	Unknown wire.Object
}

// Address is a completed address, or the requested part of one. With suite
// compression, the units of a building share one record: SubBuilding,
// PostalCodeSecondary and MAK then hold one item per unit, with commas between.
// GeneralDelivery is deprecated.
type Address struct {
	Address, Address1, Address2, Address3, Address4, Address5, Address6      string // Address is the whole address in one line
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

// Extras are the members that Details.Columns requests.
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

// Country holds the names of a country. Its member Country is the name that matched.
type Country struct {
	Country, English, Spanish, French, German, SimplifiedChinese string
	Char2ISO, Char3ISO, ISONumeric                               string
	Unknown                                                      wire.Object
}

// Address completes a street line. A call of PostalCode normally precedes it.
func (c *Client) Address(ctx context.Context, req AddressRequest, form service.Form) (*Response, error) {
	return service.Do[Response](ctx, c.Client, address, form, req)
}

// FreeForm completes a text.
func (c *Client) FreeForm(ctx context.Context, req FreeFormRequest, form service.Form) (*Response, error) {
	return service.Do[Response](ctx, c.Client, freeForm, form, req)
}

// LocalityAdministrativeArea finds cities by name.
func (c *Client) LocalityAdministrativeArea(ctx context.Context, req LocalityRequest, form service.Form) (*Response, error) {
	return service.Do[Response](ctx, c.Client, localityAdministrativeArea, form, req)
}

// PostalCode finds the cities of a postal code.
func (c *Client) PostalCode(ctx context.Context, req PostalCodeRequest, form service.Form) (*Response, error) {
	return service.Do[Response](ctx, c.Client, postalCode, form, req)
}

// Thoroughfare finds streets.
func (c *Client) Thoroughfare(ctx context.Context, req ThoroughfareRequest, form service.Form) (*Response, error) {
	return service.Do[Response](ctx, c.Client, thoroughfare, form, req)
}

// Country finds countries by part of a name in any of five languages.
func (c *Client) Country(ctx context.Context, term string, form service.Form) (*CountryResponse, error) {
	return service.Do[CountryResponse](ctx, c.Client, country, form, struct{ Country string }{term})
}
