package service_test

import (
	"strings"
	"testing"

	"syncd/internal/clients/service"
	"syncd/internal/clients/service/servicetest"
)

// near resembles a list operation: it has an object with numbers, inputs with a
// default, and a success code.
var near = &service.Operation{
	Name: "near", Methods: service.PostOnly, Formats: []string{service.FormatJSON}, Success: []service.Code{"LS01"},
	Fields: service.Fields{Inputs: []service.Input{
		{Name: "Place", Kind: service.Object, Required: true, Fields: service.Fields{Inputs: []service.Input{
			{Name: "Latitude", Kind: service.Numeric(service.Latitude)},
			{Name: "Distances", Kind: service.Integers},
		}}},
		{Name: "But", Kind: service.Object, Fields: service.Fields{Inputs: []service.Input{{Name: "Names", Kind: service.Texts}}}},
		{Name: "Page", Kind: service.Numeric(service.Whole(1, 9)), Default: "1"},
		{Name: "More", Kind: service.Object, Fields: service.Fields{Inputs: []service.Input{{Name: "Size", Kind: service.Text, Default: "9"}, {Name: "Unit", Kind: service.Text}}}},
	}},
}

func sentBody(t *testing.T, members string) string {
	t.Helper()
	call, err := near.Check(service.Form{}, parse(t, members), "Acme")
	must(t, err)
	server := servicetest.Serve(t, 0, `{"ResultCode":"LS01"}`)
	if _, err := server.Client("list", "", "Acme").Send(t.Context(), call); err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(server.Requests()[0], "\n\n")
	return strings.TrimSpace(body)
}

func TestDefaultsAndNumbersInBodies(t *testing.T) {
	tests := map[string]struct{ members, want string }{
		"default":                    {`{"Place":{"Latitude":1}}`, `{"Place":{"Latitude":1},"Page":1,"More":{"Size":"9"}}`},
		"blank is the same":          {`{"Place":{"Latitude":1},"Page":""}`, `{"Place":{"Latitude":1},"Page":1,"More":{"Size":"9"}}`},
		"given":                      {`{"Place":{"Latitude":1},"Page":"3"}`, `{"Place":{"Latitude":1},"Page":3,"More":{"Size":"9"}}`},
		"no leading digit":           {`{"Place":{"Latitude":"-.5"}}`, `{"Place":{"Latitude":-0.5},"Page":1,"More":{"Size":"9"}}`},
		"plus":                       {`{"Place":{"Latitude":"+38.10"}}`, `{"Place":{"Latitude":38.1},"Page":1,"More":{"Size":"9"}}`},
		"leading zero":               {`{"Place":{"Latitude":"007"}}`, `{"Place":{"Latitude":7},"Page":1,"More":{"Size":"9"}}`},
		"digits are kept":            {`{"Place":{"Latitude":"38.10"}}`, `{"Place":{"Latitude":38.10},"Page":1,"More":{"Size":"9"}}`},
		"several":                    {`{"Place":{"Distances":["+1","02"]}}`, `{"Place":{"Distances":[1,2]},"Page":1,"More":{"Size":"9"}}`},
		"default in an object":       {`{"Place":{"Latitude":1},"More":{"Size":null,"Unit":"mi"}}`, `{"Place":{"Latitude":1},"Page":1,"More":{"Size":"9","Unit":"mi"}}`},
		"given in an object":         {`{"Place":{"Latitude":1},"More":{"Size":"8"}}`, `{"Place":{"Latitude":1},"Page":1,"More":{"Size":"8"}}`},
		"blank members of an object": {`{"Place":{"Latitude":1},"But":{"Names":[]}}`, `{"Place":{"Latitude":1},"Page":1,"More":{"Size":"9"}}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := sentBody(t, test.members); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}
