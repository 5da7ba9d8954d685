package property_test

import (
	"testing"

	"syncd/internal/clients/property"
	"syncd/internal/clients/service"
	"syncd/internal/clients/service/servicetest"
)

// Any body gives a response or an error, in any format.
func FuzzDecode(f *testing.F) {
	servicetest.AddFixtures(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, op := range property.Operations() {
			for _, format := range op.Formats {
				decode(t, op, service.Form{Format: format}, body)
			}
		}
	})
}

func decode(t *testing.T, op *service.Operation, form service.Form, body []byte) {
	var response any
	var err error
	switch op.Name {
	case "LookupProperty":
		response, err = service.Read[property.Properties](op, form, "Acme", body)
	case "LookupDeeds":
		response, err = service.Read[property.Deeds](op, form, "Acme", body)
	default:
		response, err = service.Read[property.Homes](op, form, "Acme", body)
	}
	if err == nil && response == nil {
		t.Errorf("%s %s: neither response nor error", op.Name, form.Format)
	}
}
