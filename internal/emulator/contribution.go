package emulator

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// contributionOperations are the operations of the contribution service. Of the
// further names that older descriptions have, only the two for the identity key
// of removeMIK are taken.
func (e *Emulator) contributionOperations() map[string]operation {
	addressKey := e.cfg.Prefix + "AddressKey"
	identityKey, identificationKey := e.cfg.Prefix+"IdentityKey", e.cfg.Prefix+"IdentificationKey"
	return map[string]operation{
		"addMAK": e.contribution(getAndPost, checkAddMAK, wholeAddress, justification),
		"changeGeoPoint": e.contribution(getAndPost, func(c *serviceCall) bool { return checkGeoPoint(c, addressKey) },
			geoPoint(addressKey), justification),
		"changeMAK": e.contribution(onlyPost, func(c *serviceCall) bool { return checkChange(c, addressKey) },
			change(addressKey), justification),
		"removeMAK": e.contribution(getAndPost, func(c *serviceCall) bool { return checkRemoveMAK(c, addressKey) },
			removal(input{get: "mak", post: addressKey})),
		"addMIK": e.contribution(onlyPost, func(c *serviceCall) bool { return checkPairs(c, "Add") },
			[]input{{post: "Add", kind: listInput}}, justification),
		"changeMIK": e.contribution(onlyPost, func(c *serviceCall) bool { return checkChange(c, identityKey) },
			change(identityKey), justification),
		"removeMIK": e.contribution(getAndPost, func(c *serviceCall) bool { return checkRemoveMIK(c, identificationKey, identityKey) },
			removal(append([]input{{get: "mik", post: identificationKey}, {post: identityKey}}, personAtAddress...)...)),
	}
}

// contribution is an operation that queues what passes its check; the check
// answers what does not.
func (e *Emulator) contribution(methods []string, check func(*serviceCall) bool, inputs ...[]input) operation {
	return operation{
		methods: methods, inputs: slices.Concat(inputs...), response: contributionDocument,
		codes: "TransmissionResults", unknownID: "GE05",
		handle: func(c *serviceCall) {
			if check(c) {
				e.accept(c)
			}
		},
	}
}

// contributionDocument has no form in XML.
var contributionDocument = document{members: fields{
	{"Version", "8.4.0.9001"}, {transmissionReference, ""}, {"TransmissionResults", ""}, {"Results", ""}, {"Message", ""},
}}

var (
	justification = []input{{get: "reason", post: "Reason"}, {get: "respondto", post: "RespondToEmail"}}

	wholeAddress = []input{
		{get: "a1", post: "AddressLine1"},
		{get: "a2", post: "AddressLine2"},
		{get: "a3", post: "AddressLine3"},
		{get: "a4", post: "AddressLine4"},
		{get: "a5", post: "AddressLine5"},
		{get: "a6", post: "AddressLine6"},
		{get: "a7", post: "AddressLine7"},
		{get: "a8", post: "AddressLine8"},
		{get: "loc", post: "Locality"},
		{get: "admarea", post: "AdministrativeArea"},
		{get: "postal", post: "PostalCode"},
		{get: "ctry", post: "Country"},
		{get: "lat", post: "Latitude"},
		{get: "long", post: "Longitude"},
		{get: "org", post: "Organization"},
	}

	personAtAddress = []input{
		{get: "a1", post: "AddressLine1"},
		{get: "a2", post: "AddressLine2"},
		{get: "city", post: "City"},
		{get: "state", post: "State"},
		{get: "postal", post: "PostalCode"},
		{get: "first", post: "FirstName"},
		{get: "last", post: "LastName"},
		{get: "full", post: "FullName"},
	}
)

func geoPoint(key string) []input {
	return []input{
		{get: "ctry", post: "Country"}, {get: "mak", post: key},
		{get: "lat", post: "Latitude"}, {get: "long", post: "Longitude"},
	}
}

func change(key string) []input {
	return []input{{post: "Current", kind: listInput}, {post: "ChangeTo", kind: listInput}, {post: key}}
}

// removal has no reason: the two removing operations do not take one.
func removal(of ...input) []input {
	return slices.Concat([]input{{get: "act", post: "Action"}}, of, []input{{get: "respondto", post: "RespondToEmail"}})
}

func checkAddMAK(c *serviceCall) bool {
	return c.require("AddressLine1", "Locality", "AdministrativeArea", "PostalCode", "Country", "Latitude", "Longitude") &&
		checkCoordinates(c)
}

// checkGeoPoint asks for a country in a query only: the provider's own sample
// of a body has none.
func checkGeoPoint(c *serviceCall, key string) bool {
	names := []string{key, "Latitude", "Longitude"}
	if c.r.Method == http.MethodGet {
		names = append(names, "Country")
	}
	return c.require(names...) && checkCoordinates(c)
}

func checkCoordinates(c *serviceCall) bool {
	var faulty []faultyInput
	for _, name := range []string{"Latitude", "Longitude"} {
		if _, err := strconv.ParseFloat(c.value(name), 64); err != nil {
			faulty = append(faulty, notValid(name, c.value(name)))
		}
	}
	if len(faulty) > 0 {
		c.invalid(faulty...)
	}
	return len(faulty) == 0
}

func notValid(name, value string) faultyInput {
	return faultyInput{name, fmt.Sprintf("The value '%s' is not valid.", value)}
}

func checkChange(c *serviceCall, key string) bool {
	return c.require(key) && checkPairs(c, "Current", "ChangeTo")
}

// checkPairs wants each list there, and a key in each of its pairs. Which keys
// they are is left to the review.
func checkPairs(c *serviceCall, lists ...string) bool {
	var absent []string
	for _, name := range lists {
		if len(c.list(name)) == 0 {
			absent = append(absent, name)
		}
		for i, pair := range c.list(name) {
			if pair.value("Key") == "" {
				absent = append(absent, fmt.Sprintf("%s[%d].Key", name, i))
			}
		}
	}
	if len(absent) > 0 {
		c.missing(absent...)
	}
	return len(absent) == 0
}

func checkAction(c *serviceCall, allowed ...string) bool {
	if slices.Contains(allowed, strings.ToLower(c.value("Action"))) {
		return true
	}
	c.invalid(notValid("Action", c.value("Action")))
	return false
}

func checkRemoveMAK(c *serviceCall, key string) bool {
	return c.require("Action", key) && checkAction(c, "delete", "suppression")
}

// checkRemoveMIK wants the identity key, or an address with a name. The second
// address line is often empty, so that it counts as soon as it is there.
func checkRemoveMIK(c *serviceCall, keys ...string) bool {
	if !c.require("Action") || !checkAction(c, "delete", "suppression", "cpadelete", "cpalimit", "cpaoptout") {
		return false
	}
	if c.first(keys...) != "" {
		return true
	}
	if !c.has("AddressLine2") {
		c.missing(keys[0], "AddressLine2")
		return false
	}
	name := []string{"FullName"}
	if c.value("FullName") == "" && c.first("FirstName", "LastName") != "" {
		name = []string{"FirstName", "LastName"}
	}
	return c.require(append(name, "AddressLine1", "City", "State", "PostalCode")...)
}

// accept queues a contribution.
func (e *Emulator) accept(c *serviceCall) {
	e.queue.add(Contribution{Operation: c.name, Method: c.r.Method, Fields: contributed(c)})
	c.reply(fields{{"Results", "MS01"}, {"Message", "Submission received and queued for review."}})
}

// contributed lists what the caller gave, in the order of the operation's
// inputs.
func contributed(c *serviceCall) []ContributionField {
	var given []ContributionField
	if c.has(transmissionReference) {
		given = append(given, ContributionField{transmissionReference, c.value(transmissionReference)})
	}
	for _, in := range c.op.inputs {
		if c.has(in.post) {
			given = append(given, ContributionField{in.post, c.value(in.post)})
		}
		for _, pair := range c.list(in.post) {
			given = append(given, ContributionField{in.post + "." + pair.value("Key"), pair.value("Value")})
		}
	}
	return given
}
