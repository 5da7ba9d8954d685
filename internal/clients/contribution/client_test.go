package contribution_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"syncd/internal/clients/contribution"
	"syncd/internal/clients/service"
	"syncd/internal/clients/service/servicetest"
	"syncd/internal/clients/transport"
)

const accepted = `{"Version":"8.4.0.9001","TransmissionReference":"job-17","TransmissionResults":"","Results":" MS01 ,MS77","Message":"Queued.","Ticket":7}`

var (
	get  = service.Form{Method: "GET"}
	post = service.Form{Method: "POST"}
)

// call is one operation in one form.
type call func(context.Context, *contribution.Client) (*contribution.Response, error)

func calls() map[string]call {
	common := contribution.Submission{TransmissionReference: "job-17", RespondToEmail: "gis@example.test"}
	place := &service.Point{Latitude: 38.10422, Longitude: -97.55187}
	add := contribution.AddMAK{
		Submission: common, AddressLine1: "14 Larkspur Way", AddressLine2: "Rear", Locality: "Elmstead", AdministrativeArea: "KS",
		PostalCode: "66999", Country: "us", Point: place, Organization: "Quill & Sons", Reason: "New house",
	}
	point := contribution.ChangeGeoPoint{Submission: common, Country: "US", AddressKey: "4400112233", Point: place, Reason: "Pin was on the rail yard"}
	old := []contribution.Pair{{Key: "AddressLine1", Value: "12 Larkspur Way"}, {Key: "Latitude", Value: "38.104220"}}
	changed := []contribution.Pair{{Key: "AddressLine1", Value: "12A Larkspur Way"}, {Key: "Latitude", Value: ""}}
	byKey := contribution.RemoveMIK{Submission: common, Action: contribution.CPADelete, IdentificationKey: "0099887766"}
	byName := contribution.RemoveMIK{
		Action: contribution.Suppression, AddressLine1: "12 Larkspur Way", AddressLine2: new(""), City: "Elmstead",
		FirstName: "Ada", LastName: "Quill", PostalCode: "66999", State: "KS",
	}
	byFullName := byName
	byFullName.FirstName, byFullName.LastName, byFullName.FullName = "", "", "Ada Quill"
	remove := contribution.RemoveMAK{Submission: common, Action: contribution.Delete, AddressKey: "4400112233"}
	return map[string]call{
		"addMAK_get": func(ctx context.Context, c *contribution.Client) (*contribution.Response, error) {
			return c.AddMAK(ctx, add, get)
		},
		"addMAK_post": func(ctx context.Context, c *contribution.Client) (*contribution.Response, error) {
			return c.AddMAK(ctx, add, post)
		},
		"changeGeoPoint_get": func(ctx context.Context, c *contribution.Client) (*contribution.Response, error) {
			return c.ChangeGeoPoint(ctx, point, get)
		},
		"changeGeoPoint_post": func(ctx context.Context, c *contribution.Client) (*contribution.Response, error) {
			return c.ChangeGeoPoint(ctx, point, post)
		},
		"changeMAK_post": func(ctx context.Context, c *contribution.Client) (*contribution.Response, error) {
			return c.ChangeMAK(ctx, contribution.ChangeMAK{AddressKey: "4400112233", Current: old, ChangeTo: changed, Reason: "Renumbered"}, post)
		},
		"removeMAK_get": func(ctx context.Context, c *contribution.Client) (*contribution.Response, error) {
			return c.RemoveMAK(ctx, remove, get)
		},
		"removeMAK_post": func(ctx context.Context, c *contribution.Client) (*contribution.Response, error) {
			return c.RemoveMAK(ctx, remove, post)
		},
		"addMIK_post": func(ctx context.Context, c *contribution.Client) (*contribution.Response, error) {
			return c.AddMIK(ctx, contribution.AddMIK{Submission: common, Add: old, Reason: "Moved in"}, post)
		},
		"changeMIK_post": func(ctx context.Context, c *contribution.Client) (*contribution.Response, error) {
			return c.ChangeMIK(ctx, contribution.ChangeMIK{IdentityKey: "0099887766", Current: old, ChangeTo: changed}, service.Form{})
		},
		"removeMIK_get_key": func(ctx context.Context, c *contribution.Client) (*contribution.Response, error) {
			return c.RemoveMIK(ctx, byKey, get)
		},
		"removeMIK_post_key": func(ctx context.Context, c *contribution.Client) (*contribution.Response, error) {
			return c.RemoveMIK(ctx, byKey, post)
		},
		"removeMIK_get_name": func(ctx context.Context, c *contribution.Client) (*contribution.Response, error) {
			return c.RemoveMIK(ctx, byName, get)
		},
		"removeMIK_post_fullname": func(ctx context.Context, c *contribution.Client) (*contribution.Response, error) {
			return c.RemoveMIK(ctx, byFullName, post)
		},
		"removeMIK_post_other_name_of_key": func(ctx context.Context, c *contribution.Client) (*contribution.Response, error) {
			return c.RemoveMIK(ctx, contribution.RemoveMIK{Action: contribution.Delete, IdentityKey: "0099887766"}, post)
		},
	}
}

func TestRequests(t *testing.T) {
	for name, do := range calls() {
		t.Run(name, func(t *testing.T) {
			server := servicetest.Serve(t, 0, accepted)
			client := &contribution.Client{Client: server.Client("contribution", "/V4/WEB", "Acme")}
			response, err := do(t.Context(), client)
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

func TestMinimumInputs(t *testing.T) {
	tests := map[string]struct {
		do   call
		want string
	}{
		"no key and no name": {
			func(ctx context.Context, c *contribution.Client) (*contribution.Response, error) {
				return c.RemoveMIK(ctx, contribution.RemoveMIK{Action: contribution.Delete}, get)
			}, "needs any one of: mik; a1+a2+city+first+last+postal+state; a1+a2+city+full+postal+state",
		},
		"second line not said": {
			func(ctx context.Context, c *contribution.Client) (*contribution.Response, error) {
				return c.RemoveMIK(ctx, contribution.RemoveMIK{Action: contribution.Delete, AddressLine1: "12 Larkspur Way", City: "Elmstead", FullName: "Ada Quill", PostalCode: "66999", State: "KS"}, post)
			}, "needs any one of: AcmeIdentificationKey; AcmeIdentityKey; AddressLine1+AddressLine2+City",
		},
		"action of another operation": {
			func(ctx context.Context, c *contribution.Client) (*contribution.Response, error) {
				return c.RemoveMAK(ctx, contribution.RemoveMAK{Action: contribution.CPALimit, AddressKey: "1"}, get)
			}, "act must be one of delete, suppression",
		},
		"no coordinates": {
			func(ctx context.Context, c *contribution.Client) (*contribution.Response, error) {
				return c.ChangeGeoPoint(ctx, contribution.ChangeGeoPoint{Country: "US", AddressKey: "1"}, post)
			}, "Latitude is missing",
		},
		"latitude beyond the pole": {
			func(ctx context.Context, c *contribution.Client) (*contribution.Response, error) {
				return c.ChangeGeoPoint(ctx, contribution.ChangeGeoPoint{Country: "US", AddressKey: "1", Point: &service.Point{Latitude: 90.5}}, get)
			}, "lat must be a number from -90 to 90",
		},
		"no GET form": {
			func(ctx context.Context, c *contribution.Client) (*contribution.Response, error) {
				return c.AddMIK(ctx, contribution.AddMIK{Add: []contribution.Pair{{Key: "City", Value: "Elmstead"}}}, get)
			}, "cannot be called with GET: use POST",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			server := servicetest.Serve(t, 0, accepted)
			_, err := test.do(t.Context(), &contribution.Client{Client: server.Client("contribution", "/V4/WEB", "Acme")})
			var input *service.InputError
			if !errors.As(err, &input) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an input error with %q", err, test.want)
			}
			if requests := server.Requests(); len(requests) > 0 {
				t.Errorf("sent %v", requests)
			}
		})
	}
}

// A submission could be taken twice: whatever comes back, it was sent once.
func TestSentOnce(t *testing.T) {
	for name, do := range calls() {
		server := servicetest.Serve(t, http.StatusServiceUnavailable, "")
		_, err := do(t.Context(), &contribution.Client{Client: server.Client("contribution", "/V4/WEB", "Acme")})
		if !transport.IsPassing(err) || len(server.Requests()) != 1 {
			t.Errorf("%s: %d requests, error %v", name, len(server.Requests()), err)
		}
	}
}

func TestAnswersThatAreNoSuccess(t *testing.T) {
	tests := map[string]struct {
		status       int
		answer, want string
	}{
		"error code":       {200, `{"TransmissionResults":"GE05,GW01","Results":"","Message":""}`, "contribution removeMAK: GE05 (invalid Customer ID)"},
		"nothing accepted": {200, `{"TransmissionResults":"","Results":"","Message":"Try later."}`, "no code of success: Try later."},
		"other code":       {200, `{"TransmissionResults":"","Results":"MX09"}`, "contribution removeMAK: MX09"},
		"field texts":      {400, `{"type":"t","title":"Wrong.","status":400,"errors":{"$.act":["not allowed"]},"traceId":"0"}`, "$.act: not allowed"},
		"web page":         {200, `<html>sign in</html>`, "no JSON"},
		"other service":    {200, `{"value":"unexpected"}`, "none of this service"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			server := servicetest.Serve(t, test.status, test.answer)
			client := &contribution.Client{Client: server.Client("contribution", "/V4/WEB", "Acme")}
			_, err := client.RemoveMAK(t.Context(), contribution.RemoveMAK{Action: "DELETE", AddressKey: "4400112233"}, get)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}
