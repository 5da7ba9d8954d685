package listing_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"syncd/internal/clients/listing"
	"syncd/internal/clients/service"
	"syncd/internal/clients/service/servicetest"
)

const success = `{"Count":0,"ResultCode":"LS01","Message":"Success"}`

func client(server *servicetest.Server) *listing.Client {
	return &listing.Client{Client: server.Client("list", "/web/V1", "Acme")}
}

// areas has every filter that names an area.
var areas = listing.Filters{
	Zips:   []listing.Zip{{Zip: "66999"}, {Zip: "66998", Plus4: "2104", CarrierRoute: "C001"}},
	Cities: []listing.City{{City: "Elmstead", State: "KS"}},
	Radius: &listing.Radius{Point: service.Point{Latitude: 38.10422, Longitude: -97.55187}, Distance: 2.5},
	ShapeWKTs: []string{
		"POLYGON((-97.56 38.10,-97.54 38.10,-97.54 38.11,-97.56 38.10))",
	},
}

// requests have a filter of every shape, over all groups.
func requests() map[listing.Group]listing.Request {
	mak, business := areas, areas
	mak.RBDI, mak.GeoLevel = []string{"R"}, []string{"5"}
	mak.POBoxStyleAddress, mak.NoStatInd = []bool{false}, []bool{true, false}
	business.PrimarySICCodeId, business.EmailDeliverableInd = []string{"521101"}, []string{"true"}
	business.EmailMarketableInd, business.WorkAtHome = new(true), new(false)
	business.LocationEmployeeCount = &listing.Range{Minimum: new(0), Maximum: new(50)}
	business.EstimatedOpenedForBusiness = &listing.TextRange{Minimum: "2001", Maximum: "2010"}
	return map[listing.Group]listing.Request{
		listing.MAK: {Includes: mak, Columns: []string{"{Prefix}AddressKey", "AddressLine"}},
		listing.NewMovers: {
			Includes: listing.Filters{
				CensusKey: []string{"209999501001000"}, PrefixAddressKey: []string{"4400112233"}, PreviousBasePrefixAddressKey: []string{"4400112299"},
				MoveEffectiveDate: &listing.Dates{StartDate: "2024/01/01", EndDate: "2024/12/31"}, MoveDistanceCode: []int{1, 2},
			},
			Columns: []string{"FullName", "Previous{Prefix}AddressKey"}, Page: 2,
		},
		listing.NewHomeowners: {
			Includes: listing.Filters{
				Zips: []listing.Zip{{Zip: "66999"}}, SellDate: &listing.Dates{StartDate: "2024-01-01", EndDate: "2024-06-30"},
			},
			Excludes: listing.Filters{State: []string{"MO"}},
			Columns:  []string{"{Prefix}AddressKey", "AddressLine", "PurchasePrice", "SellDate"},
			OrderBy:  []listing.Order{{Column: "SellDate", SortOrder: listing.Descending}, {Column: "Base{Prefix}AddressKey"}},
			Page:     1,
		},
		listing.Consumer: {
			Includes: listing.Filters{
				Zips:     []listing.Zip{{Zip: "66999"}},
				AgeRange: &listing.Range{Minimum: new(30), Maximum: new(45)}, AgeRangeFemale: &listing.Range{Minimum: new(18)},
				AddressStreetName: []listing.Street{{ZipCode: "66999", Street: "Larkspur"}},
			},
			Excludes: listing.Filters{NetWorthGoldRank: []string{"A", "B"}},
			Columns:  []string{"FullName", "HistoyMilitaryInd"},
		},
		listing.ConsumerTwo: {Includes: areas, Excludes: listing.Filters{Cities: areas.Cities}, Columns: []string{"FirstName1", "NotYetKnown"}},
		listing.Business:    {Includes: business, Columns: []string{"Name", "Mailing{Prefix}Addresskey"}},
	}
}

func TestRequestsMatchGoldenFiles(t *testing.T) {
	for group, req := range requests() {
		calls := map[string]func(*listing.Client) error{
			"doCount": func(c *listing.Client) error {
				_, err := c.Count(t.Context(), group, req, service.Form{})
				return err
			},
			"getCount": func(c *listing.Client) error {
				_, err := c.Sample(t.Context(), group, req, service.Form{})
				return err
			},
			"doLookup": func(c *listing.Client) error {
				_, err := c.Lookup(t.Context(), group, req, service.Form{})
				return err
			},
		}
		for name, call := range calls {
			t.Run(string(group)+"/"+name, func(t *testing.T) {
				server := servicetest.Serve(t, 0, success)
				if err := call(client(server)); err != nil {
					t.Fatal(err)
				}
				server.Golden(t, string(group)+"_"+name)
			})
		}
	}
}

// The service has no GET and no XML.
func TestOtherFormsAreRefused(t *testing.T) {
	for name, form := range map[string]service.Form{
		"GET": {Method: "GET"}, "XML": {Format: service.FormatXML}, "script": {JSONP: true},
	} {
		server := servicetest.Serve(t, 0, success)
		_, err := client(server).Count(t.Context(), listing.MAK, listing.Request{Includes: areas}, form)
		if _, ok := errors.AsType[*service.InputError](err); !ok || len(server.Requests()) > 0 {
			t.Errorf("%s: got %v after %d requests, want an input error", name, err, len(server.Requests()))
		}
	}
}

func TestInvalidInputIsRefused(t *testing.T) {
	zips := listing.Filters{Zips: []listing.Zip{{Zip: "66999"}}}
	columns := []string{"City"}
	tests := map[string]struct {
		group listing.Group
		req   listing.Request
		want  string
	}{
		"no filter":            {listing.MAK, listing.Request{Columns: columns}, "Includes needs any one of: Zips, Cities, Radius, ShapeWKTs"},
		"no area":              {listing.Consumer, listing.Request{Includes: listing.Filters{RBDI: []string{"R"}}, Columns: columns}, "Includes needs any one of: Zips, Cities, Radius, ShapeWKTs"},
		"no area of movers":    {listing.NewMovers, listing.Request{Includes: listing.Filters{State: []string{"KS"}}, Columns: columns}, "Zips, Cities, Radius, ShapeWKTs, CensusKey"},
		"area only excluded":   {listing.MAK, listing.Request{Excludes: zips, Columns: columns}, "Includes needs any one of"},
		"census key elsewhere": {listing.NewHomeowners, listing.Request{Includes: listing.Filters{CensusKey: []string{"1"}}, Columns: columns}, "Includes needs any one of"},
		"filter of another":    {listing.MAK, listing.Request{Includes: listing.Filters{Zips: zips.Zips, AgeRange: &listing.Range{Minimum: new(1)}}, Columns: columns}, "unknown input Includes.AgeRange"},
		"circle excluded":      {listing.MAK, listing.Request{Includes: zips, Excludes: listing.Filters{Radius: areas.Radius}, Columns: columns}, "unknown input Excludes.Radius"},
		"area excluded":        {listing.MAK, listing.Request{Includes: zips, Excludes: listing.Filters{ShapeWKTs: areas.ShapeWKTs}, Columns: columns}, "unknown input Excludes.ShapeWKTs"},
		"no columns":           {listing.MAK, listing.Request{Includes: zips}, "missing Columns ("},
		"blank code":           {listing.MAK, listing.Request{Includes: listing.Filters{Zips: []listing.Zip{{Plus4: "1"}}}, Columns: columns}, "missing Includes.Zips.Zip ("},
		"city without state":   {listing.MAK, listing.Request{Includes: listing.Filters{Cities: []listing.City{{City: "Elmstead"}}}, Columns: columns}, "missing Includes.Cities.State ("},
		"beyond the pole":      {listing.MAK, listing.Request{Includes: listing.Filters{Radius: &listing.Radius{Point: service.Point{Latitude: -91}}}, Columns: columns}, "Includes.Radius.Latitude must be a number from -90 to 90"},
		"too far":              {listing.MAK, listing.Request{Includes: listing.Filters{Radius: &listing.Radius{Distance: 99999}}, Columns: columns}, "Includes.Radius.Distance must be"},
		"page before first":    {listing.MAK, listing.Request{Includes: zips, Columns: columns, Page: -1}, "Pagination.Page must be a whole number from 1"},
		"direction":            {listing.MAK, listing.Request{Includes: zips, Columns: columns, OrderBy: []listing.Order{{Column: "City", SortOrder: "UP"}}}, "OrderBy.sortorder must be one of ASC, DESC"},
		"group":                {"Pets", listing.Request{Includes: zips, Columns: columns}, `unknown group "Pets": use one of [MAK NewMovers`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			server := servicetest.Serve(t, 0, success)
			_, err := client(server).Lookup(t.Context(), test.group, test.req, service.Form{})
			server.CheckRefused(t, err, test.want)
		})
	}
}

func TestAnswerWithoutSuccessIsAnError(t *testing.T) {
	tests := map[string]struct {
		status       int
		answer, want string
		codes        service.Codes // of an answer that is returned with the error
	}{
		"error code":   {200, `{"Count":0,"ResultCode":"GE05","Message":"Who?"}`, "list MAK/doCount: GE05 (invalid Customer ID): Who?", service.Codes{"GE05"}},
		"unknown code": {200, `{"Count":0,"ResultCode":"LS02","Message":"Nothing found."}`, "list MAK/doCount: LS02: Nothing found.", service.Codes{"LS02"}},
		"no code":      {200, `{"Count":3}`, "the answer has no success code", nil},
		"both":         {200, `{"Count":3,"ResultCode":"LS01,SE01"}`, "SE01", service.Codes{"LS01", "SE01"}},
		"null":         {200, `null`, "unexpected response shape", nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			server := servicetest.Serve(t, test.status, test.answer)
			res, err := client(server).Count(t.Context(), listing.MAK, listing.Request{Includes: areas}, service.Form{})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
			var failed *service.AnswerError
			if errors.As(err, &failed) != (res != nil) {
				t.Errorf("response %+v with error %v", res, err)
			}
			if failed != nil && (!slices.Equal(failed.Codes, test.codes) || !slices.Equal(res.ResultCode, test.codes)) {
				t.Errorf("codes %v and %v, want %v", failed.Codes, res.ResultCode, test.codes)
			}
		})
	}
}
