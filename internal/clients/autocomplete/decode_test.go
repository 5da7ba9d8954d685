package autocomplete_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"syncd/internal/clients/autocomplete"
	"syncd/internal/clients/service"
	"syncd/internal/clients/service/servicetest"
	"syncd/internal/clients/wire"
	"syncd/internal/manifest/refusal"
)

var (
	inJSON = service.Form{}
	inXML  = service.Form{Format: service.FormatXML}
	script = service.Form{JSONP: true}
)

func described(t testing.TB, name string) *service.Operation {
	t.Helper()
	return servicetest.Operation(t, autocomplete.Operations(), name)
}

func decode[R any](t *testing.T, form service.Form, body string) *R {
	t.Helper()
	r, err := service.Read[R](described(t, "GlobalExpressFreeForm"), form, "Acme", []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// blankTexts counts the empty text fields of an address.
func blankTexts(a autocomplete.Address) (texts, blank int) {
	v := reflect.ValueOf(a)
	for i := range v.NumField() {
		if v.Field(i).Kind() == reflect.String {
			texts++
			if v.Field(i).String() == "" {
				blank++
			}
		}
	}
	return texts, blank
}

func TestReadAddresses(t *testing.T) {
	tests := map[string]struct {
		form   service.Form
		body   string
		extras string
	}{
		"JSON":                        {inJSON, servicetest.Fixture(t, "address.json"), "AS01"},
		"XML":                         {inXML, servicetest.Fixture(t, "address.xml"), "AS01"},
		"XML with a namespace":        {inXML, strings.Replace(servicetest.Fixture(t, "address.xml"), "<ResponseGlobal", `<ResponseGlobal xmlns="urn:x"`, 1), "AS01"},
		"XML with prefixes":           {inXML, prefixed(servicetest.Fixture(t, "address.xml")), "AS01"},
		"JSON in place of XML":        {inXML, servicetest.Fixture(t, "address.json"), "AS01"},
		"JSONP without a call":        {script, servicetest.Fixture(t, "address_d.json"), ""},
		"JSONP with a call":           {script, servicetest.Fixture(t, "address.js"), ""},
		"call of the wrapped":         {script, "cb7(" + servicetest.Fixture(t, "address_d.json") + ", 200);", ""},
		"JSONP, bare envelope":        {script, "\ufeff " + servicetest.Fixture(t, "address.json"), "AS01"},
		"call of a dotted name":       {script, "a.b$_c (" + servicetest.Fixture(t, "address.json") + " ) ; ", "AS01"},
		"JSON with a byte order mark": {inJSON, "\ufeff" + servicetest.Fixture(t, "address.json"), "AS01"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := decode[autocomplete.Response](t, test.form, test.body)
			if r.Version != "9.0.0.9001" || !r.ResultCode.Has("XS02") || r.ErrorString != "" || len(r.Unknown) > 0 || len(r.Results) != 2 {
				t.Fatalf("%+v", r)
			}
			house, units := r.Results[0].Address, r.Results[1].Address
			if house.Address != "12 Larkspur Way, Elmstead, KS 66999-1205" || house.MAK != "4400112233" || house.DistanceFromPoint != 0 || house.Extras.AddrObjectResultCode != test.extras {
				t.Errorf("%+v", house)
			}
			if units.Address1 != "3 Teasel Ct" || units.SubBuilding != "# 1,# 2" || units.MAK != "4400112301,4400112302" || units.DistanceFromPoint != 0.25 {
				t.Errorf("%+v", units)
			}
			if len(house.Unknown)+len(house.Extras.Unknown)+len(units.Unknown)+len(r.Results[0].Unknown) > 0 {
				t.Errorf("unknown: %v, %v", house.Unknown, units.Unknown)
			}
			if texts, blank := blankTexts(house); texts != 58 || texts-blank != 22 {
				t.Errorf("%d texts, %d of them blank", texts, blank)
			}
		})
	}
}

// prefixed gives every element of a document a namespace prefix.
func prefixed(body string) string {
	body = strings.NewReplacer("</", "</p:", "<?", "<?", "<", "<p:").Replace(body)
	return strings.Replace(body, "<p:ResponseGlobal", `<p:ResponseGlobal xmlns:p="urn:x"`, 1)
}

func TestReadCountries(t *testing.T) {
	want := autocomplete.Country{
		Country: "Iceland", English: "Iceland", Spanish: "Islandia", French: "Islande", German: "Island", SimplifiedChinese: "冰岛",
		Char2ISO: "IS", Char3ISO: "ISL", ISONumeric: "352",
	}
	for name, form := range map[string]service.Form{"country.json": inJSON, "country.xml": inXML, "country.js": script} {
		r := decode[autocomplete.CountryResponse](t, form, servicetest.Fixture(t, name))
		if !r.ResultCode.Has("XS01") || len(r.Results) != 2 || !reflect.DeepEqual(r.Results[0], want) || r.Results[1].Char2ISO != "PL" {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

func TestReadOddAnswer(t *testing.T) {
	body := servicetest.Fixture(t, "odd.json")
	r := decode[autocomplete.Response](t, inJSON, body)
	if r.Version != "9" || !r.ResultCode.Has("XS01") || !r.ResultCode.Has("GW01") || len(r.Results) != 4 || string(r.Raw) != body {
		t.Fatalf("%+v", r)
	}
	a := r.Results[0].Address
	if a.Address != "12 Larkspur Way" || a.MAK != "4400112233" || a.Latitude != "38.5" || a.Extras.UDPRN != "1" {
		t.Errorf("%+v", a)
	}
	unknown := map[string]wire.Object{
		`{"Elapsed":{"ms":3}}`:                  r.Unknown,
		`{"Score":0.9}`:                         r.Results[0].Unknown,
		`{"Mood":"fine","Premise":["12","14"]}`: a.Unknown,
		`{"Rooms":3}`:                           a.Extras.Unknown,
		`{}`:                                    append(wire.Object{}, r.Results[1].Unknown...),
		`{"Address":"3 Teasel Ct"}`:             r.Results[2].Unknown,
	}
	for want, got := range unknown {
		if string(wire.JSON(got)) != want {
			t.Errorf("unknown %s, want %s", wire.JSON(got), want)
		}
	}
}

func TestReadEmptyAnswers(t *testing.T) {
	tests := map[string]struct {
		form          service.Form
		body, unknown string
	}{
		"body null":           {inJSON, `null`, `{}`},
		"null for JSONP":      {script, `cb7(null);`, `{}`},
		"wrapped null":        {script, `{"d":null}`, `{}`},
		"results null":        {inJSON, `{"ResultCode":"XS03","Results":null}`, `{}`},
		"results empty":       {inJSON, `{"ResultCode":"XS03","Results":[]}`, `{}`},
		"results absent":      {inJSON, `{"ResultCode":"XS03"}`, `{}`},
		"results hold a code": {inJSON, `{"Results":"XS03"}`, `{"Results":"XS03"}`},
		"XML empty":           {inXML, `<ResponseGlobal><ResultCode>XS03</ResultCode><Results/></ResponseGlobal>`, `{}`},
		"XML with blanks":     {inXML, "<ResponseGlobal><ResultCode>XS03</ResultCode><Results>\n</Results></ResponseGlobal>", `{}`},
		"XML nil":             {inXML, `<ResponseGlobal xmlns:i="http://www.w3.org/2001/XMLSchema-instance"><ResultCode>XS03</ResultCode><Results i:nil="true"/></ResponseGlobal>`, `{}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := decode[autocomplete.Response](t, test.form, test.body)
			if got := string(wire.JSON(append(wire.Object{}, r.Unknown...))); len(r.Results) > 0 || got != test.unknown {
				t.Errorf("results %v, unknown %s", r.Results, got)
			}
		})
	}
}

func TestReadResultWithoutAddress(t *testing.T) {
	for name, test := range map[string]struct {
		form service.Form
		body string
	}{
		"JSON": {inJSON, `{"Results":[{"Address":null},{}]}`},
		"XML":  {inXML, `<ResponseGlobal><Results><ResultGlobal><Address/></ResultGlobal><ResultGlobal/></Results></ResponseGlobal>`},
	} {
		r := decode[autocomplete.Response](t, test.form, test.body)
		if len(r.Results) != 2 || !reflect.DeepEqual(r.Results[0], autocomplete.Result{}) || !reflect.DeepEqual(r.Results[1], autocomplete.Result{}) {
			t.Errorf("%s: %+v", name, r.Results)
		}
	}
}

func FuzzDecode(f *testing.F) {
	servicetest.AddFixtures(f)
	op := described(f, "GlobalExpressFreeForm")
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, form := range []service.Form{inJSON, inXML, script} {
			r, err := service.Read[autocomplete.Response](op, form, "Acme", body)
			if err != nil {
				if r != nil || refusal.ReasonOf(err) == "" {
					t.Errorf("response %v, error %v", r, err)
				}
				continue
			}
			if text := wire.JSON(r.Value); !json.Valid(text) {
				t.Errorf("value %s", text)
			}
			if _, err := service.Read[autocomplete.CountryResponse](op, form, "Acme", body); err != nil {
				t.Errorf("addresses, but no countries: %v", err)
			}
		}
	})
}
