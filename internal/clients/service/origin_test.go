package service_test

import (
	"errors"
	"strings"
	"testing"

	"syncd/internal/clients/service"
	"syncd/internal/clients/wire"
)

// nearest takes an origin of one of two kinds, and named targets.
var nearest = &service.Operation{
	Name: "nearest", Methods: service.GetPost, Formats: []string{service.FormatJSON},
	Fields: service.Fields{
		Inputs: []service.Input{
			{Name: "Latitude", Query: "lat", Kind: service.Latitude},
			{Name: "Longitude", Query: "long", Kind: service.Longitude},
			{Name: "{Prefix}AddressKey", Query: "mak", Kind: service.Key},
			{Name: "Options", Query: "opt", Kind: service.Options(map[string]service.Kind{"Empty": service.OneOf("On", "Off")})},
			{Name: "Records", Kind: service.Objects(3), Fields: service.Fields{Inputs: []service.Input{
				{Name: "MAK", Query: "target", Kind: service.Key}, {Name: "RecordID", Kind: service.Text},
			}}},
		},
		AnyOf:     []service.Set{{"Latitude", "Longitude"}, {"{Prefix}AddressKey"}},
		Exclusive: true,
	},
}

func TestExclusiveSets(t *testing.T) {
	tests := map[string]struct{ method, body, want string }{
		"point":               {"POST", `{"Latitude":"1","Longitude":"2"}`, ""},
		"key":                 {"POST", `{"{Prefix}AddressKey":"44"}`, ""},
		"other set blank":     {"POST", `{"AcmeAddressKey":"44","Latitude":" ","Longitude":""}`, ""},
		"both":                {"POST", `{"Latitude":"1","Longitude":"2","AcmeAddressKey":"44"}`, "takes only one of: Latitude+Longitude, AcmeAddressKey"},
		"key and half":        {"GET", `{"Latitude":"1","AcmeAddressKey":"44"}`, "takes only one of: lat+long, mak"},
		"half":                {"GET", `{"Latitude":"1"}`, "needs any one of: lat+long, mak"},
		"option has no value": {"GET", `{"AcmeAddressKey":"44","Options":"Empty:"}`, "opt Empty has no value"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := nearest.Check(service.Form{Method: test.method}, parse(t, test.body), "Acme")
			if test.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if _, ok := errors.AsType[*service.InputError](err); !ok || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// Without a method in the form, the chosen one can carry the input.
func TestMethodFollowsInput(t *testing.T) {
	tests := map[string]struct{ body, want string }{
		"plain":                      {`{"AcmeAddressKey":"44"}`, "GET"},
		"a record":                   {`{"AcmeAddressKey":"44","Records":[{"MAK":"1"}]}`, "GET"},
		"a record outside of a list": {`{"AcmeAddressKey":"44","Records":{"RecordID":"a"}}`, "POST"},
		"what GET cannot carry":      {`{"AcmeAddressKey":"44","Records":[{"MAK":"1","RecordID":"a"}]}`, "POST"},
		"the same, blank":            {`{"AcmeAddressKey":"44","Records":[{"MAK":"1","RecordID":""}]}`, "GET"},
		"two records":                {`{"AcmeAddressKey":"44","Records":[{"MAK":"1"},{"MAK":"2"}]}`, "POST"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			call, err := nearest.Check(service.Form{}, parse(t, test.body), "Acme")
			must(t, err)
			if call.Form.Method != test.want {
				t.Errorf("got %s, want %s", call.Form.Method, test.want)
			}
		})
	}
}

// A text that is not a finite number leaves the Decimal unchanged.
func TestDecimalReadsOnlyFiniteNumbers(t *testing.T) {
	for _, text := range []string{"NaN", "-Inf", "1e999", "north", ""} {
		d := service.Decimal(7)
		if err := d.UnmarshalText([]byte(text)); err == nil || d != 7 {
			t.Errorf("%q: got %v, error %v", text, d, err)
		}
	}
}

func parse(t *testing.T, body string) wire.Object {
	t.Helper()
	v, err := wire.ParseJSON([]byte(body))
	must(t, err)
	return v.(wire.Object)
}
