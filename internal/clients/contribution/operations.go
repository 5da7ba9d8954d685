package contribution

import "syncd/internal/clients/service"

// Operations describes the seven operations of the contribution service. Names
// and minimum inputs are those of docs/wire/contribution.md, section 2.
func Operations() []*service.Operation {
	return []*service.Operation{addMAK, changeGeoPoint, changeMAK, removeMAK, addMIK, changeMIK, removeMIK}
}

// Inputs that several operations have.
var (
	customerID = service.Input{Name: "CustomerID", Kind: service.Identity}
	reference  = service.Input{Name: "TransmissionReference", Query: "t", Kind: service.Text, Help: "echoed in the answer"}
	reason     = service.Input{Name: "Reason", Query: "reason", Kind: service.Text, Help: "why; a submission without a reason may be discarded"}
	respondTo  = service.Input{Name: "RespondToEmail", Query: "respondto", Kind: service.Email, Help: "address to notify of the outcome"}
	addressKey = service.Input{Name: "{Prefix}AddressKey", Query: "mak", Kind: service.Key, Required: true, Help: "key of the address"}
	country    = service.Input{Name: "Country", Query: "ctry", Kind: service.Country, Required: true}
	latitude   = service.Input{Name: "Latitude", Query: "lat", Kind: service.Latitude, Required: true}
	longitude  = service.Input{Name: "Longitude", Query: "long", Kind: service.Longitude, Required: true}
)

// submitted is the code of a submission that is queued for review.
var submitted = []service.Code{"MS01"}

var addMAK = &service.Operation{
	Name: "addMAK", Summary: "Submit an address that has no key yet",
	Methods: service.GetPost, Formats: jsonOnly, Success: submitted, Writes: true,
	Fields: service.Fields{Inputs: []service.Input{
		customerID, reference,
		{Name: "AddressLine1", Query: "a1", Kind: service.Text, Required: true},
		{Name: "AddressLine2", Query: "a2", Kind: service.Text},
		{Name: "AddressLine3", Query: "a3", Kind: service.Text},
		{Name: "AddressLine4", Query: "a4", Kind: service.Text},
		{Name: "AddressLine5", Query: "a5", Kind: service.Text},
		{Name: "AddressLine6", Query: "a6", Kind: service.Text},
		{Name: "AddressLine7", Query: "a7", Kind: service.Text},
		{Name: "AddressLine8", Query: "a8", Kind: service.Text},
		{Name: "Locality", Query: "loc", Kind: service.Text, Required: true, Help: "city"},
		{Name: "AdministrativeArea", Query: "admarea", Kind: service.Text, Required: true, Help: "state or province"},
		{Name: "PostalCode", Query: "postal", Kind: service.Text, Required: true},
		country, latitude, longitude,
		{Name: "Organization", Query: "org", Kind: service.Text, Help: "business at the address"},
		reason, respondTo,
	}},
}

var changeGeoPoint = &service.Operation{
	Name: "changeGeoPoint", Summary: "Correct the coordinates of an address key",
	Methods: service.GetPost, Formats: jsonOnly, Success: submitted, Writes: true,
	Fields: service.Fields{Inputs: []service.Input{
		customerID, reference, country, addressKey, latitude, longitude, reason, respondTo,
	}},
}

var changeMAK = &service.Operation{
	Name: "changeMAK", Summary: "Change an address key",
	Methods: service.PostOnly, Formats: jsonOnly, Success: submitted, Writes: true,
	Fields: service.Fields{Inputs: []service.Input{
		customerID, reference, addressKey,
		pairs("Current", "old values", append(pairKeys, "AddressKey")),
		pairs("ChangeTo", "new values, with the keys of Current; empty means unchanged", append(pairKeys, "AddressKey")),
		reason, respondTo,
	}, Aligned: currentAndNew},
}

// currentAndNew are the lists of a change, which must have the same keys.
var currentAndNew = service.Set{"Current", "ChangeTo"}

var removeMAK = &service.Operation{
	Name: "removeMAK", Summary: "Remove an address key",
	Methods: service.GetPost, Formats: jsonOnly, Success: submitted, Writes: true,
	Fields: service.Fields{Inputs: []service.Input{
		customerID, reference,
		{Name: "Action", Query: "act", Kind: service.OneOf("delete", "suppression"), Required: true},
		addressKey, respondTo,
	}},
}

var addMIK = &service.Operation{
	Name: "addMIK", Summary: "Submit an identity that has no key yet",
	Methods: service.PostOnly, Formats: jsonOnly, Success: submitted, Writes: true,
	Fields: service.Fields{Inputs: []service.Input{
		customerID, reference, pairs("Add", "values of the new identity", pairKeys), reason, respondTo,
	}},
}

var changeMIK = &service.Operation{
	Name: "changeMIK", Summary: "Change an identity key",
	Methods: service.PostOnly, Formats: jsonOnly, Success: submitted, Writes: true,
	Fields: service.Fields{Inputs: []service.Input{
		customerID, reference,
		{Name: "{Prefix}IdentityKey", Kind: service.Text, Required: true, Help: "key of the identity"},
		pairs("Current", "old values", append(pairKeys, "AddressKey")),
		pairs("ChangeTo", "new values, with the keys of Current; empty means unchanged", append(pairKeys, "AddressKey")),
		reason, respondTo,
	}, Aligned: currentAndNew},
}

var removeMIK = &service.Operation{
	Name: "removeMIK", Summary: "Remove an identity key",
	Methods: service.GetPost, Formats: jsonOnly, Success: submitted, Writes: true,
	Fields: service.Fields{
		Inputs: []service.Input{
			customerID, reference,
			{
				Name: "Action", Query: "act", Required: true,
				Kind: service.OneOf("delete", "suppression", "cpadelete", "cpalimit", "cpaoptout"),
				Help: "cpadelete erases personal data, cpalimit objects to processing, cpaoptout withdraws consent",
			},
			{Name: "{Prefix}IdentificationKey", Query: "mik", Kind: service.Text, Help: "identity key"},
			{Name: "{Prefix}IdentityKey", Kind: service.Text, Help: "the same under another name: the provider's texts use both"},
			{Name: "AddressLine1", Query: "a1", Kind: service.Text},
			{Name: "AddressLine2", Query: "a2", Kind: service.Blank, Help: "give it empty if the address has none"},
			{Name: "City", Query: "city", Kind: service.Text},
			{Name: "FirstName", Query: "first", Kind: service.Text},
			{Name: "LastName", Query: "last", Kind: service.Text},
			{Name: "FullName", Query: "full", Kind: service.Text},
			{Name: "PostalCode", Query: "postal", Kind: service.Text},
			{Name: "State", Query: "state", Kind: service.Text},
			respondTo,
		},
		AnyOf: []service.Set{
			{"{Prefix}IdentificationKey"},
			{"{Prefix}IdentityKey"},
			{"AddressLine1", "AddressLine2", "City", "FirstName", "LastName", "PostalCode", "State"},
			{"AddressLine1", "AddressLine2", "City", "FullName", "PostalCode", "State"},
		},
	},
}

var jsonOnly = []string{service.FormatJSON}

// pairKeys are the keys of a pair. Changes have AddressKey too.
var pairKeys = []string{"AddressLine1", "AddressLine2", "City", "Country", "Latitude", "Longitude", "State", "Suite", "Urbanization"}

func pairs(name, means string, keys []string) service.Input {
	in := service.Input{Name: name, Kind: service.Pairs, Required: true, Help: means}
	kinds := map[string]service.Kind{"Latitude": service.Latitude, "Longitude": service.Longitude}
	for _, key := range keys {
		kind, special := kinds[key]
		if !special {
			kind = service.Blank
		}
		in.Inputs = append(in.Inputs, service.Input{Name: key, Kind: kind})
	}
	return in
}
