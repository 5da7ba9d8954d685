package listing_test

import (
	"encoding/json"
	"strings"
	"testing"

	"syncd/internal/clients/listing"
	"syncd/internal/clients/service"
	"syncd/internal/clients/service/servicetest"
	"syncd/internal/clients/wire"
	"syncd/internal/manifest/refusal"
)

func described(t testing.TB, name string) *service.Operation {
	t.Helper()
	return servicetest.Operation(t, listing.Operations(), name)
}

func decode[R any](t *testing.T, body string) *R {
	t.Helper()
	r, err := service.Read[R](described(t, "MAK/doLookup"), service.Form{}, "Acme", []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestReadPage(t *testing.T) {
	page := decode[listing.Page](t, servicetest.Fixture(t, "lookup.json"))
	if page.Count != 2 || page.JobID != "job-5f2c" || !page.ResultCode.Has("LS01") || page.Message != "Success" || len(page.Unknown) > 0 {
		t.Errorf("%+v", page.Response)
	}
	if page.Pagination.CurrentPage != 1 || page.Pagination.NextPage == nil || *page.Pagination.NextPage != 0 || page.Pagination.TotalPages != 1 {
		t.Errorf("%+v", page.Pagination)
	}
	want := `{"AcmeAddressKey":4400112233,"AddressLine":"12 Larkspur Way","PurchasePrice":315,"SellDate":"2024-05-14T00:00:00"}`
	if len(page.Results) != 2 || string(wire.JSON(page.Results[0])) != want {
		t.Fatalf("rows %v", page.Results)
	}
	if key := page.Results[0].Get("acmeaddresskey"); key != json.Number("4400112233") {
		t.Errorf("key %v", key)
	}
	if i := page.Results[1].Find("AcmeAddressKey"); i != 0 || page.Results[1][i].Value != nil {
		t.Errorf("a key that is null: %v", page.Results[1])
	}
}

func TestReadPageWithOddTypes(t *testing.T) {
	body := servicetest.Fixture(t, "lookup_odd.json")
	page := decode[listing.Page](t, body)
	if page.Count != 250 || page.JobID != "17" || !page.ResultCode.Has("LS01") || !page.ResultCode.Has("LS77") || page.Message != "" {
		t.Errorf("%+v", page.Response)
	}
	if page.Pagination.CurrentPage != 2 || page.Pagination.NextPage == nil || *page.Pagination.NextPage != 3 || page.Pagination.TotalPages != 0 || page.Pagination.Unknown.Text("PageSize") != "100" {
		t.Errorf("%+v", page.Pagination)
	}
	if len(page.Results) != 4 || page.Results[0].Text("AddressLine") != "" || page.Results[1].Text("AcmeAddressKey") != "4400112299" {
		t.Errorf("rows %v", page.Results)
	}
	if string(wire.JSON(page.Unknown)) != `{"Elapsed":{"Seconds":1.5}}` || string(page.Raw) != body {
		t.Errorf("unknown %v, raw %s", page.Unknown, page.Raw)
	}
}

func TestReadSampleAndCount(t *testing.T) {
	sample := decode[listing.Sample](t, servicetest.Fixture(t, "sample.json"))
	if sample.Count != 2 || len(sample.Sample) != 2 || sample.Sample[1].Text("city") != "Larkford" || len(sample.Unknown) > 0 {
		t.Errorf("%+v", sample)
	}
	count := decode[listing.Response](t, servicetest.Fixture(t, "count.json"))
	if count.Count != 1480 || count.JobID != "job-5f2e" || count.Message != "" || len(count.Unknown) > 0 {
		t.Errorf("%+v", count)
	}
}

// A member of an unexpected type is kept in Unknown and is not an error.
func TestMembersOfOtherTypesAreKept(t *testing.T) {
	tests := map[string]struct{ body, unknown string }{
		"count":            {`{"Count":"many"}`, `{"Count":"many"}`},
		"count too large":  {`{"Count":1e99}`, `{"Count":1e99}`},
		"rows as text":     {`{"Count":1,"Results":"none"}`, `{"Results":"none"}`},
		"row as text":      {`{"Count":1,"Results":[{},"none"]}`, `{"Results":[{},"none"]}`},
		"pagination":       {`{"Count":1,"Pagination":7}`, `{"Pagination":7}`},
		"code as a list":   {`{"Count":1,"ResultCode":["LS01"]}`, `{"ResultCode":["LS01"]}`},
		"message":          {`{"Count":1,"Message":{"en":"Hello"}}`, `{"Message":{"en":"Hello"}}`},
		"empty rows":       {`{"Count":1,"Results":[]}`, `{}`},
		"null everywhere":  {`{"Count":null,"Results":null,"Pagination":null,"JobId":null,"ResultCode":null,"Message":null}`, `{}`},
		"one row, no list": {`{"Count":1,"Results":{"City":"Elmstead"}}`, `{}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			page := decode[listing.Page](t, test.body)
			if got := string(wire.JSON(append(wire.Object{}, page.Unknown...))); got != test.unknown {
				t.Errorf("unknown %s, want %s", got, test.unknown)
			}
		})
	}
}

func FuzzDecode(f *testing.F) {
	servicetest.AddFixtures(f)
	op := described(f, "MAK/doLookup")
	f.Fuzz(func(t *testing.T, body []byte) {
		page, err := service.Read[listing.Page](op, service.Form{}, "Acme", body)
		if err != nil {
			if page != nil || refusal.ReasonOf(err) == "" {
				t.Errorf("page %v, error %v", page, err)
			}
			return
		}
		if _, err := service.Read[listing.Sample](op, service.Form{}, "Acme", body); err != nil {
			t.Errorf("a page, but no sample: %v", err)
		}
		for _, row := range page.Results {
			if text := string(wire.JSON(row)); !strings.HasPrefix(text, "{") || !json.Valid([]byte(text)) {
				t.Errorf("row %s", text)
			}
		}
	})
}
