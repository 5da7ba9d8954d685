package property_test

import (
	"os"
	"path/filepath"
	"testing"

	"syncd/internal/clients/property"
	"syncd/internal/clients/service"
)

// Any body gives a response or an error, in any format.
func FuzzDecode(f *testing.F) {
	fixtures, err := filepath.Glob("testdata/*.*")
	if err != nil || len(fixtures) == 0 {
		f.Fatalf("%d fixtures, error %v", len(fixtures), err)
	}
	for _, fixture := range fixtures {
		body, err := os.ReadFile(fixture)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body)
	}
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
