package contribution_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"syncd/internal/clients/contribution"
	"syncd/internal/clients/service"
	"syncd/internal/clients/service/servicetest"
	"syncd/internal/clients/transport"
)

const accepted = `{"Version":"8.4.0.9001","TransmissionReference":"job-17","TransmissionResults":"","Results":" MS01 ,MS77","Message":"Queued.","Ticket":7}`

type call = func(context.Context, *contribution.Client) (*contribution.Response, error)

// These call one operation each.
var (
	addMAK         = servicetest.Ask((*contribution.Client).AddMAK)
	changeGeoPoint = servicetest.Ask((*contribution.Client).ChangeGeoPoint)
	changeMAK      = servicetest.Ask((*contribution.Client).ChangeMAK)
	removeMAK      = servicetest.Ask((*contribution.Client).RemoveMAK)
	addMIK         = servicetest.Ask((*contribution.Client).AddMIK)
	changeMIK      = servicetest.Ask((*contribution.Client).ChangeMIK)
	removeMIK      = servicetest.Ask((*contribution.Client).RemoveMIK)
)

func client(server *servicetest.Server) *contribution.Client {
	return &contribution.Client{Client: server.Client("contribution", "/V4/WEB", "Acme")}
}

func calls() map[string]call {
	common := contribution.Submission{TransmissionReference: "job-17", RespondToEmail: "gis@example.test"}
	place := &service.Point{Latitude: 38.10422, Longitude: -97.55187}
	add := contribution.AddMAK{
		Submission: common, AddressLine1: "14 Larkspur Way", AddressLine2: "Rear", AddressLine3: "Floor 3", AddressLine4: "Unit 4+",
		AddressLine5: "Door #5", AddressLine6: "c/o Quill & Sons", AddressLine7: "Box 7", AddressLine8: "Elmstead 100%",
		Locality: "Elmstead", AdministrativeArea: "KS", PostalCode: "66999", Country: "us", Point: place, Organization: "Quill & Sons", Reason: "New house",
	}
	point := contribution.ChangeGeoPoint{Submission: common, Country: "US", AddressKey: "4400112233", Point: place, Reason: "Pin was on the rail yard"}
	identity := []contribution.Pair{
		{Key: "AddressLine1", Value: "12 Larkspur Way"}, {Key: "AddressLine2", Value: "Rear"}, {Key: "City", Value: "Elmstead"},
		{Key: "Country", Value: "US"}, {Key: "Latitude", Value: "38.104220"}, {Key: "Longitude", Value: "-97.551870"},
		{Key: "State", Value: "KS"}, {Key: "Suite", Value: "4"}, {Key: "Urbanization", Value: "Urb. Las Gladiolas"},
	}
	old := append(slices.Clip(identity), contribution.Pair{Key: "AddressKey", Value: "4400112233"})
	changed := slices.Clone(old)
	for i := range changed {
		changed[i].Value = ""
	}
	changed[0].Value = "12A Larkspur Way"
	inMAK := contribution.ChangeMAK{Submission: common, AddressKey: "4400112233", Current: old, ChangeTo: changed, Reason: "Renumbered"}
	inMIK := contribution.ChangeMIK{Submission: common, IdentityKey: "0099887766", Current: old, ChangeTo: changed, Reason: "Renumbered"}
	byKey := contribution.RemoveMIK{Submission: common, Action: contribution.CPADelete, IdentificationKey: "0099887766"}
	byName := contribution.RemoveMIK{
		Submission: common, Action: contribution.Suppression, AddressLine1: "12 Larkspur Way", AddressLine2: new(""), City: "Elmstead",
		FirstName: "Ada", LastName: "Quill", PostalCode: "66999", State: "KS",
	}
	byFullName := byName
	byFullName.FirstName, byFullName.LastName, byFullName.FullName = "", "", "Ada Quill"
	rear := byFullName
	rear.AddressLine2 = new("Rear")
	remove := contribution.RemoveMAK{Submission: common, Action: contribution.Delete, AddressKey: "4400112233"}
	return map[string]call{
		"addMAK_get":                       addMAK(add, servicetest.Get),
		"addMAK_post":                      addMAK(add, servicetest.Post),
		"changeGeoPoint_get":               changeGeoPoint(point, servicetest.Get),
		"changeGeoPoint_post":              changeGeoPoint(point, servicetest.Post),
		"changeMAK_post":                   changeMAK(inMAK, servicetest.Post),
		"removeMAK_get":                    removeMAK(remove, servicetest.Get),
		"removeMAK_post":                   removeMAK(remove, servicetest.Post),
		"addMIK_post":                      addMIK(contribution.AddMIK{Submission: common, Add: identity, Reason: "Moved in"}, servicetest.Post),
		"changeMIK_post":                   changeMIK(inMIK, service.Form{}),
		"removeMIK_get_key":                removeMIK(byKey, servicetest.Get),
		"removeMIK_post_key":               removeMIK(byKey, servicetest.Post),
		"removeMIK_get_name":               removeMIK(byName, servicetest.Get),
		"removeMIK_post_name":              removeMIK(byName, servicetest.Post),
		"removeMIK_get_fullname":           removeMIK(rear, servicetest.Get),
		"removeMIK_post_fullname":          removeMIK(byFullName, servicetest.Post),
		"removeMIK_post_other_name_of_key": removeMIK(contribution.RemoveMIK{Submission: common, Action: contribution.Delete, IdentityKey: "0099887766"}, servicetest.Post),
	}
}

func TestRequestsMatchGoldenFiles(t *testing.T) {
	for name, do := range calls() {
		t.Run(name, func(t *testing.T) {
			server := servicetest.Serve(t, 0, accepted)
			response, err := do(t.Context(), client(server))
			if err != nil {
				t.Fatal(err)
			}
			server.Golden(t, name)
			if !response.Results.Has("MS01") || response.Message != "Queued." || response.Unknown.Text("Ticket") != "7" || !strings.Contains(string(response.Raw), "Ticket") {
				t.Errorf("response %+v", response)
			}
		})
	}
}

func TestCallsNeedTheMinimumInputs(t *testing.T) {
	tests := map[string]struct {
		do   call
		want string
	}{
		"no key and no name":          {removeMIK(contribution.RemoveMIK{Action: contribution.Delete}, servicetest.Get), "needs any one of: mik, a1+a2+city+first+last+postal+state, a1+a2+city+full+postal+state"},
		"no AddressLine2":             {removeMIK(contribution.RemoveMIK{Action: contribution.Delete, AddressLine1: "12 Larkspur Way", City: "Elmstead", FullName: "Ada Quill", PostalCode: "66999", State: "KS"}, servicetest.Post), "needs any one of: AcmeIdentificationKey, AcmeIdentityKey, AddressLine1+AddressLine2+City"},
		"action of another operation": {removeMAK(contribution.RemoveMAK{Action: contribution.CPALimit, AddressKey: "1"}, servicetest.Get), "act must be one of delete, suppression"},
		"no coordinates":              {changeGeoPoint(contribution.ChangeGeoPoint{Country: "US", AddressKey: "1"}, servicetest.Post), "missing Latitude ("},
		"latitude beyond the pole":    {changeGeoPoint(contribution.ChangeGeoPoint{Country: "US", AddressKey: "1", Point: &service.Point{Latitude: 90.5}}, servicetest.Get), "lat must be a number from -90 to 90"},
		"no GET form":                 {addMIK(contribution.AddMIK{Add: []contribution.Pair{{Key: "City", Value: "Elmstead"}}}, servicetest.Get), "cannot be called with GET: use POST"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			server := servicetest.Serve(t, 0, accepted)
			_, err := test.do(t.Context(), client(server))
			server.CheckRefused(t, err, test.want)
		})
	}
}

// An action in any case is sent in the spelling of the service.
func TestActionsIgnoreCase(t *testing.T) {
	tests := map[string]struct {
		action, want string // want "" is an input error
		isMIK        bool
	}{
		"MAK, delete":      {"Delete", "delete", false},
		"MAK, suppression": {"SUPPRESSION", "suppression", false},
		"MAK, cpadelete":   {"cpadelete", "", false},
		"MAK, cpalimit":    {"cpalimit", "", false},
		"MAK, cpaoptout":   {"cpaoptout", "", false},
		"MAK, another":     {"erase", "", false},
		"MAK, none":        {"", "", false},
		"MIK, delete":      {"DELETE", "delete", true},
		"MIK, suppression": {"Suppression", "suppression", true},
		"MIK, cpadelete":   {"CPADelete", "cpadelete", true},
		"MIK, cpalimit":    {"cpaLimit", "cpalimit", true},
		"MIK, cpaoptout":   {"CPAOptOut", "cpaoptout", true},
		"MIK, another":     {"cpa", "", true},
		"MIK, none":        {"", "", true},
	}
	for name, test := range tests {
		for _, form := range []service.Form{servicetest.Get, servicetest.Post} {
			t.Run(name+", "+form.Method, func(t *testing.T) {
				server := servicetest.Serve(t, 0, accepted)
				remove := removeMAK(contribution.RemoveMAK{Action: contribution.Action(test.action), AddressKey: "4400112233"}, form)
				if test.isMIK {
					remove = removeMIK(contribution.RemoveMIK{Action: contribution.Action(test.action), IdentificationKey: "0099887766"}, form)
				}
				_, err := remove(t.Context(), client(server))
				if test.want == "" {
					server.CheckRefused(t, err, "")
					return
				}
				want := map[string]string{"GET": "\n  act=" + test.want + "\n", "POST": `"Action":"` + test.want + `"`}[form.Method]
				carries(t, server, err, want)
			})
		}
	}
}

// carries fails the test unless exactly one request arrived, with that text.
func carries(t *testing.T, server *servicetest.Server, err error, want string) {
	t.Helper()
	requests := server.Requests()
	if err != nil || len(requests) != 1 || !strings.Contains(requests[0], want) {
		t.Errorf("error %v, sent %v, want %s", err, requests, want)
	}
}

// pairsOf has a call for each input that is a list of pairs. A change has the same
// keys in its other list.
var pairsOf = map[string]func([]contribution.Pair, service.Form) call{
	"changeMAK Current": func(pairs []contribution.Pair, form service.Form) call {
		return changeMAK(contribution.ChangeMAK{AddressKey: "4400112233", Current: pairs, ChangeTo: sameKeys(pairs)}, form)
	},
	"changeMAK ChangeTo": func(pairs []contribution.Pair, form service.Form) call {
		return changeMAK(contribution.ChangeMAK{AddressKey: "4400112233", Current: sameKeys(pairs), ChangeTo: pairs}, form)
	},
	"changeMIK Current": func(pairs []contribution.Pair, form service.Form) call {
		return changeMIK(contribution.ChangeMIK{IdentityKey: "0099887766", Current: pairs, ChangeTo: sameKeys(pairs)}, form)
	},
	"changeMIK ChangeTo": func(pairs []contribution.Pair, form service.Form) call {
		return changeMIK(contribution.ChangeMIK{IdentityKey: "0099887766", Current: sameKeys(pairs), ChangeTo: pairs}, form)
	},
	"addMIK Add": func(pairs []contribution.Pair, form service.Form) call {
		return addMIK(contribution.AddMIK{Add: pairs}, form)
	},
}

func sameKeys(pairs []contribution.Pair) []contribution.Pair {
	blank := slices.Clone(pairs)
	for i := range blank {
		blank[i].Value = ""
	}
	return blank
}

// A change names the same keys in Current and in ChangeTo.
func TestChangesNeedTheSameKeys(t *testing.T) {
	pairs := func(keys ...string) (list []contribution.Pair) {
		for _, key := range keys {
			list = append(list, contribution.Pair{Key: key, Value: "4"})
		}
		return list
	}
	tests := map[string]struct {
		current, changeTo []contribution.Pair
		want              string
	}{
		"same":           {pairs("City", "State"), pairs("City", "State"), ""},
		"other order":    {pairs("City", "State"), pairs("State", "City"), ""},
		"other case":     {pairs("city"), pairs("CITY"), ""},
		"only old":       {pairs("City", "State"), pairs("City"), "only Current has State"},
		"only new":       {pairs("City"), pairs("City", "Suite"), "only ChangeTo has Suite"},
		"none in common": {pairs("City", "Suite"), pairs("State"), "only Current has City, Suite, and only ChangeTo has State"},
		"repeated":       {pairs("City", "City"), pairs("City"), "only Current has City"},
		"unknown":        {pairs("Colour"), pairs("City"), "only Current has Colour, and only ChangeTo has City"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			for _, form := range []service.Form{servicetest.Post, {Method: "POST", Lenient: true}} {
				if name == "unknown" && !form.Lenient {
					continue
				}
				server := servicetest.Serve(t, 0, accepted)
				c := client(server)
				_, forMAK := c.ChangeMAK(t.Context(), contribution.ChangeMAK{AddressKey: "44", Current: test.current, ChangeTo: test.changeTo}, form)
				_, forMIK := c.ChangeMIK(t.Context(), contribution.ChangeMIK{IdentityKey: "44", Current: test.current, ChangeTo: test.changeTo}, form)
				for _, err := range []error{forMAK, forMIK} {
					if _, ok := errors.AsType[*service.InputError](err); test.want == "" && err != nil || test.want != "" && (!ok || !strings.Contains(err.Error(), test.want)) {
						t.Errorf("got %v, want %q", err, test.want)
					}
				}
				if sent := len(server.Requests()); test.want != "" && sent > 0 {
					t.Errorf("%d requests were sent", sent)
				}
			}
		})
	}
}

// A new identity has no AddressKey.
func TestPairKeysAreChecked(t *testing.T) {
	tests := map[string]struct {
		key, value string
		sent       string // as the service spells it
		known      bool
		toAdd      bool // known to addMIK too
	}{
		"AddressKey":   {"AddressKey", "4400112233", "AddressKey", true, false},
		"AddressLine1": {"AddressLine1", "12 Larkspur Way", "AddressLine1", true, true},
		"AddressLine2": {"AddressLine2", "Rear", "AddressLine2", true, true},
		"City":         {"City", "Elmstead", "City", true, true},
		"Country":      {"Country", "US", "Country", true, true},
		"Latitude":     {"Latitude", "38.104220", "Latitude", true, true},
		"Longitude":    {"Longitude", "-97.551870", "Longitude", true, true},
		"State":        {"State", "KS", "State", true, true},
		"Suite":        {"Suite", "4", "Suite", true, true},
		"Urbanization": {"Urbanization", "Urb. Las Gladiolas", "Urbanization", true, true},
		"empty value":  {"Suite", "", "Suite", true, true},
		"other case":   {"addressLINE1", "12 Larkspur Way", "AddressLine1", true, true},
		"unknown":      {"Colour", "red", "Colour", false, false},
	}
	for name, test := range tests {
		for place, do := range pairsOf {
			for _, form := range []service.Form{servicetest.Post, {Method: "POST", Lenient: true}} {
				t.Run(fmt.Sprintf("%s, %s, lenient %t", name, place, form.Lenient), func(t *testing.T) {
					server := servicetest.Serve(t, 0, accepted)
					_, err := do([]contribution.Pair{{Key: test.key, Value: test.value}}, form)(t.Context(), client(server))
					if known := test.toAdd || test.known && place != "addMIK Add"; !known && !form.Lenient {
						server.CheckRefused(t, err, "")
						return
					}
					_, list, _ := strings.Cut(place, " ")
					carries(t, server, err, fmt.Sprintf(`"%s":[{"Key":"%s","Value":"%s"}]`, list, test.sent, test.value))
				})
			}
		}
	}
}

// A retry could submit twice, because the first request may have been accepted.
func TestSubmissionIsNeverRetried(t *testing.T) {
	for name, do := range calls() {
		server := servicetest.Serve(t, http.StatusServiceUnavailable, "")
		_, err := do(t.Context(), client(server))
		if !transport.IsTransient(err) || len(server.Requests()) != 1 {
			t.Errorf("%s: %d requests, error %v", name, len(server.Requests()), err)
		}
	}
}

func TestAnswerWithoutSuccessIsAnError(t *testing.T) {
	tests := map[string]struct {
		status       int
		answer, want string
	}{
		"error code":      {200, `{"TransmissionResults":"GE05,GW01","Results":"","Message":""}`, "contribution removeMAK: GE05 (invalid Customer ID)"},
		"no success code": {200, `{"TransmissionResults":"","Results":"","Message":"Try later."}`, "the answer has no success code: Try later."},
		"other code":      {200, `{"TransmissionResults":"","Results":"MX09"}`, "contribution removeMAK: MX09"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			server := servicetest.Serve(t, test.status, test.answer)
			_, err := client(server).RemoveMAK(t.Context(), contribution.RemoveMAK{Action: "DELETE", AddressKey: "4400112233"}, servicetest.Get)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}
