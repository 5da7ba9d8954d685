package service_test

import (
	"net/url"
	"strings"
	"testing"

	"syncd/internal/clients/service"
	"syncd/internal/clients/transport"
)

// A preview hides the Customer ID, and the user part and the query of the
// configured address, which may hold further secrets.
func TestPreviewHoldsNoSecrets(t *testing.T) {
	const id = "CID-0001/+ä"
	base, err := url.Parse("http://ada:hunter2@127.0.0.1:9/base?token=T0KEN")
	must(t, err)
	client, err := service.Connect("test", "Acme", transport.Config{Base: base, CustomerID: id}, nil)
	must(t, err)
	defer client.Close()
	tests := map[string]struct {
		form service.Form
		want string
	}{
		"GET":  {service.Form{}, "GET http://127.0.0.1:9/base/Lookup?a1=REDACTED+Way&format=json&id=REDACTED&postal=66999&token=REDACTED "},
		"JSON": {service.Form{Method: "POST"}, `POST http://127.0.0.1:9/base/Lookup?token=REDACTED {"CustomerId":"REDACTED","TotalRecords":"1","Records":[{"AddressLine1":"REDACTED Way","PostalCode":"66999"}]}`},
		"XML":  {service.Form{Method: "POST", Format: "xml"}, "<CustomerId>REDACTED</CustomerId>"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			call, err := lookup.Check(test.form, parse(t, `{"Records":[{"AddressLine1":"`+id+` Way","PostalCode":"66999"}]}`), "Acme")
			must(t, err)
			p, err := client.Preview(call)
			must(t, err)
			got := p.Method + " " + p.URL + " " + string(p.Body)
			if !strings.Contains(got, test.want) || strings.Contains(got, "CID-0001") || strings.Contains(got, "hunter2") || strings.Contains(got, "T0KEN") {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}
