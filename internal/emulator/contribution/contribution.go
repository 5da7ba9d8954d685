package contribution

import (
	"slices"

	"syncd/internal/emulator/service"
	"syncd/internal/emulator/wire"
)

// Path is the base path of the operations.
const Path = "/contribution/V4/WEB"

// New returns the service, which adds what it accepts to queue.
func New(cfg service.Config, queue *Queue) *service.Service {
	k := keys{
		address:        cfg.AddressKey(),
		identity:       cfg.Prefix + "IdentityKey",
		identification: cfg.Prefix + "IdentificationKey",
	}
	return &service.Service{Path: Path, CustomerID: cfg.CustomerID, Operations: operations(k, queue)}
}

// keys are the names that carry the vendor's word.
type keys struct{ address, identity, identification string }

func operations(k keys, queue *Queue) map[string]service.Operation {
	get, post := service.GetAndPost, service.OnlyPost
	removedIdentity := append([]service.Input{{Query: "mik", Body: k.identification}, {Body: k.identity}}, personAtAddress...)
	return map[string]service.Operation{
		"addMAK":         queueing(queue, get, checkAddMAK, wholeAddress, justification),
		"changeGeoPoint": queueing(queue, get, k.checkGeoPoint, geoPoint(k.address), justification),
		"changeMAK":      queueing(queue, post, checkChange(k.address), change(k.address), justification),
		"removeMAK":      queueing(queue, get, k.checkRemoveMAK, removal(service.Input{Query: "mak", Body: k.address})),
		"addMIK": queueing(queue, post, func(c *service.Call) bool { return checkPairs(c, "Add") },
			[]service.Input{{Body: "Add", Kind: service.List}}, justification),
		"changeMIK": queueing(queue, post, checkChange(k.identity), change(k.identity), justification),
		"removeMIK": queueing(queue, get, k.checkRemoveMIK, removal(removedIdentity...)),
	}
}

// queueing returns an operation that queues a request that passes its check. The
// check answers a request that does not.
func queueing(queue *Queue, methods []string, check func(*service.Call) bool, inputs ...[]service.Input) service.Operation {
	return service.Operation{
		Methods: methods, Inputs: slices.Concat(inputs...), Response: response,
		Codes: "TransmissionResults", UnknownID: "GE05",
		Handle: func(c *service.Call) {
			if check(c) {
				queue.add(Submission{Operation: c.Name, Method: c.Method, Fields: given(c)})
				c.Reply(wire.Fields{{"Results", "MS01"}, {"Message", "Submission received and queued for review."}})
			}
		},
	}
}

// response has no root: this service answers in JSON only.
var response = wire.Document{Members: wire.Fields{
	{"Version", "8.4.0.9001"}, {service.TransmissionReference, ""}, {"TransmissionResults", ""}, {"Results", ""}, {"Message", ""},
}}

var (
	justification = []service.Input{{Query: "reason", Body: "Reason"}, {Query: "respondto", Body: "RespondToEmail"}}

	wholeAddress = []service.Input{
		{Query: "a1", Body: "AddressLine1"},
		{Query: "a2", Body: "AddressLine2"},
		{Query: "a3", Body: "AddressLine3"},
		{Query: "a4", Body: "AddressLine4"},
		{Query: "a5", Body: "AddressLine5"},
		{Query: "a6", Body: "AddressLine6"},
		{Query: "a7", Body: "AddressLine7"},
		{Query: "a8", Body: "AddressLine8"},
		{Query: "loc", Body: "Locality"},
		{Query: "admarea", Body: "AdministrativeArea"},
		{Query: "postal", Body: "PostalCode"},
		{Query: "ctry", Body: "Country"},
		{Query: "lat", Body: "Latitude"},
		{Query: "long", Body: "Longitude"},
		{Query: "org", Body: "Organization"},
	}

	personAtAddress = []service.Input{
		{Query: "a1", Body: "AddressLine1"},
		{Query: "a2", Body: "AddressLine2"},
		{Query: "city", Body: "City"},
		{Query: "state", Body: "State"},
		{Query: "postal", Body: "PostalCode"},
		{Query: "first", Body: "FirstName"},
		{Query: "last", Body: "LastName"},
		{Query: "full", Body: "FullName"},
	}
)

func geoPoint(key string) []service.Input {
	return []service.Input{
		{Query: "ctry", Body: "Country"}, {Query: "mak", Body: key},
		{Query: "lat", Body: "Latitude"}, {Query: "long", Body: "Longitude"},
	}
}

func change(key string) []service.Input {
	return []service.Input{{Body: "Current", Kind: service.List}, {Body: "ChangeTo", Kind: service.List}, {Body: key}}
}

// removal returns the inputs of a removing operation, which takes no reason.
func removal(target ...service.Input) []service.Input {
	return slices.Concat([]service.Input{{Query: "act", Body: "Action"}}, target, []service.Input{{Query: "respondto", Body: "RespondToEmail"}})
}

// given lists what the caller gave, in the order of the operation's inputs.
func given(c *service.Call) []Field {
	var fields []Field
	if c.Has(service.TransmissionReference) {
		fields = append(fields, Field{service.TransmissionReference, c.Value(service.TransmissionReference)})
	}
	for _, in := range c.Operation.Inputs {
		if c.Has(in.Body) {
			fields = append(fields, Field{in.Body, c.Value(in.Body)})
		}
		for _, pair := range c.List(in.Body) {
			fields = append(fields, Field{in.Body + "." + pair.Value("Key"), pair.Value("Value")})
		}
	}
	return fields
}
