package contribution_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"syncd/internal/clients/contribution"
	"syncd/internal/clients/service"
	"syncd/internal/clients/wire"
	"syncd/internal/manifest/refusal"
)

// read returns the response for a body; it is the same for every operation.
func read(body string) (*contribution.Response, error) {
	return service.Read[contribution.Response](contribution.Operations()[0], service.Form{}, "Acme", []byte(body))
}

func TestReadResponses(t *testing.T) {
	tests := map[string]struct {
		body string
		want contribution.Response
	}{
		"sample": {
			`{"Version":"8.4.0.9001","TransmissionReference":"job-17","TransmissionResults":"","Results":"MS01","Message":"Submission received and queued for review."}`,
			contribution.Response{Version: "8.4.0.9001", TransmissionReference: "job-17", Results: service.Codes{"MS01"}, Message: "Submission received and queued for review."},
		},
		"several codes": {`{"Results":" MS01 ,MS02,","TransmissionResults":"GW01"}`, contribution.Response{Results: service.Codes{"MS01", "MS02"}, TransmissionResults: service.Codes{"GW01"}}},
		"nulls":         {`{"Version":null,"TransmissionReference":null,"TransmissionResults":null,"Results":"MS01","Message":null}`, contribution.Response{Results: service.Codes{"MS01"}}},
		"numbers":       {`{"Version":8.4,"TransmissionReference":17,"Results":"MS01"}`, contribution.Response{Version: "8.4", TransmissionReference: "17", Results: service.Codes{"MS01"}}},
		"other case":    {`{"results":"MS01","MESSAGE":"Queued."}`, contribution.Response{Results: service.Codes{"MS01"}, Message: "Queued."}},
		"unknown members, list of codes": {
			`{"Results":["MS01"],"Ticket":{"Number":7}}`,
			contribution.Response{Unknown: wire.Object{
				{Name: "Results", Value: []wire.Value{"MS01"}},
				{Name: "Ticket", Value: wire.Object{{Name: "Number", Value: json.Number("7")}}},
			}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := read(test.body)
			if err != nil {
				t.Fatal(err)
			}
			if string(got.Raw) != test.body {
				t.Errorf("raw %s", got.Raw)
			}
			got.Answer = service.Answer{}
			if diff := cmp.Diff(test.want, *got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Only the auto-complete service has been seen to answer null.
func TestNullIsRefused(t *testing.T) {
	if got, err := read("null"); refusal.ReasonOf(err) != refusal.BadShape {
		t.Errorf("got %+v, %v", got, err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(accepted))
	f.Add([]byte(`{"Results":["MS01"],"Ticket":{"Number":7}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		if got, err := read(string(body)); err == nil && got == nil {
			t.Error("neither response nor error")
		}
	})
}
