package contribution

import (
	"context"

	"syncd/internal/clients/service"
	"syncd/internal/clients/wire"
)

// Client submits corrections and additions. Errors are *service.InputError
// before anything is sent, *service.AnswerError for an answer without MS01, and
// those of transport.Client. The response is returned with an *AnswerError too.
// Safe for concurrent use.
type Client struct{ *service.Client }

// Submission holds the inputs that all requests share.
type Submission struct {
	TransmissionReference string `json:",omitempty"` // echoed in the response
	RespondToEmail        string `json:",omitempty"` // is notified of the outcome
}

// AddMAK submits an address that has no key yet.
type AddMAK struct {
	Submission
	AddressLine1       string
	AddressLine2       string `json:",omitempty"`
	AddressLine3       string `json:",omitempty"`
	AddressLine4       string `json:",omitempty"`
	AddressLine5       string `json:",omitempty"`
	AddressLine6       string `json:",omitempty"`
	AddressLine7       string `json:",omitempty"`
	AddressLine8       string `json:",omitempty"`
	Locality           string // city
	AdministrativeArea string // state or province
	PostalCode         string
	Country            string // two letters
	*service.Point
	Organization string `json:",omitempty"`
	Reason       string `json:",omitempty"` // the justification
}

// ChangeGeoPoint corrects the coordinates of an address.
type ChangeGeoPoint struct {
	Submission
	Country    string // two letters
	AddressKey string `json:"{Prefix}AddressKey"`
	*service.Point
	Reason string `json:",omitempty"`
}

// Pair is one value of an address or an identity.
type Pair struct{ Key, Value string }

// ChangeMAK changes an address key.
type ChangeMAK struct {
	Submission
	AddressKey string `json:"{Prefix}AddressKey"`
	Current    []Pair // old values
	ChangeTo   []Pair // new values, with the keys of Current; "" means unchanged
	Reason     string `json:",omitempty"`
}

// Action says what a removal does.
type Action string

// The actions; RemoveMAK takes the first two.
const (
	Delete      Action = "delete"
	Suppression Action = "suppression"
	CPADelete   Action = "cpadelete" // erase personal data
	CPALimit    Action = "cpalimit"  // object to its processing
	CPAOptOut   Action = "cpaoptout" // withdraw consent
)

// RemoveMAK removes an address key.
type RemoveMAK struct {
	Submission
	Action     Action
	AddressKey string `json:"{Prefix}AddressKey"`
}

// AddMIK submits an identity that has no key yet.
type AddMIK struct {
	Submission
	Add    []Pair
	Reason string `json:",omitempty"`
}

// ChangeMIK changes an identity key.
type ChangeMIK struct {
	Submission
	IdentityKey string `json:"{Prefix}IdentityKey"`
	Current     []Pair // old values
	ChangeTo    []Pair // new values, with the keys of Current; "" means unchanged
	Reason      string `json:",omitempty"`
}

// RemoveMIK removes an identity key. It names the identity by its key, or by an
// address with either first and last name or full name. The address needs
// AddressLine2: new("") if there is none.
type RemoveMIK struct {
	Submission
	Action            Action
	IdentificationKey string  `json:"{Prefix}IdentificationKey,omitempty"`
	IdentityKey       string  `json:"{Prefix}IdentityKey,omitempty"` // POST only: the key under its other name
	AddressLine1      string  `json:",omitempty"`
	AddressLine2      *string `json:",omitempty"`
	City              string  `json:",omitempty"`
	FirstName         string  `json:",omitempty"`
	LastName          string  `json:",omitempty"`
	FullName          string  `json:",omitempty"`
	PostalCode        string  `json:",omitempty"`
	State             string  `json:",omitempty"`
}

// Response answers every operation.
type Response struct {
	service.Answer        `json:"-"`
	Version               string
	TransmissionReference string
	TransmissionResults   service.Codes // about the request
	Results               service.Codes // about the submission; MS01 says that it is queued
	Message               string
	Unknown               wire.Object
}

// AddMAK submits an address.
func (c *Client) AddMAK(ctx context.Context, req AddMAK, form service.Form) (*Response, error) {
	return service.Do[Response](ctx, c.Client, addMAK, form, req)
}

// ChangeGeoPoint corrects coordinates.
func (c *Client) ChangeGeoPoint(ctx context.Context, req ChangeGeoPoint, form service.Form) (*Response, error) {
	return service.Do[Response](ctx, c.Client, changeGeoPoint, form, req)
}

// ChangeMAK changes an address key.
func (c *Client) ChangeMAK(ctx context.Context, req ChangeMAK, form service.Form) (*Response, error) {
	return service.Do[Response](ctx, c.Client, changeMAK, form, req)
}

// RemoveMAK removes an address key.
func (c *Client) RemoveMAK(ctx context.Context, req RemoveMAK, form service.Form) (*Response, error) {
	return service.Do[Response](ctx, c.Client, removeMAK, form, req)
}

// AddMIK submits an identity.
func (c *Client) AddMIK(ctx context.Context, req AddMIK, form service.Form) (*Response, error) {
	return service.Do[Response](ctx, c.Client, addMIK, form, req)
}

// ChangeMIK changes an identity key.
func (c *Client) ChangeMIK(ctx context.Context, req ChangeMIK, form service.Form) (*Response, error) {
	return service.Do[Response](ctx, c.Client, changeMIK, form, req)
}

// RemoveMIK removes an identity key.
func (c *Client) RemoveMIK(ctx context.Context, req RemoveMIK, form service.Form) (*Response, error) {
	return service.Do[Response](ctx, c.Client, removeMIK, form, req)
}
