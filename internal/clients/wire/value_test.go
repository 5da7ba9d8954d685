package wire_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"syncd/internal/clients/wire"
	"syncd/internal/manifest/refusal"
)

func TestJSONKeepsOrderNumbersAndRepeatedNames(t *testing.T) {
	const body = `{"b":1.50,"a":[null,true,{"z":"<&>","z":"\u009b31m"}],"key":12345678901234567890,"e":{}}`
	v, err := wire.ParseJSON([]byte("\xef\xbb\xbf " + body + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(wire.JSON(v)); got != body {
		t.Errorf("got %s", got)
	}
	if got := string(wire.Indent(v)); !strings.Contains(got, "\n  \"a\": [\n    null") || strings.Contains(got, "\u009b") {
		t.Errorf("got %q", got)
	}
}

// records is the schema of most answers.
var records = wire.Schema{Lists: []string{"Records"}}

func TestParseXMLReturnsTheShapeOfJSON(t *testing.T) {
	deep := wire.Schema{Lists: []string{"Records"}, Objects: []string{"Records[].Pool"}, Numbers: []string{"Total", "Records[].Place.Distance"}}
	tests := map[string]struct {
		schema     wire.Schema
		body, want string
	}{
		"list of one":      {records, `<R><Records><Record><City>Elmstead</City></Record></Records></R>`, `{"Records":[{"City":"Elmstead"}]}`},
		"empty list":       {records, `<R><Records/><Version>1</Version></R>`, `{"Records":[],"Version":"1"}`},
		"name in any case": {records, `<R><records/></R>`, `{"records":[]}`},
		"nil":              {records, `<R xmlns:i="http://www.w3.org/2001/XMLSchema-instance"><Records i:nil="true"/></R>`, `{"Records":null}`},
		"namespaces":       {records, `<p:R xmlns:p="urn:x" xmlns="urn:y"><p:Version>1</p:Version></p:R>`, `{"Version":"1"}`},
		"repeated":         {records, `<R><A>1</A><B>x</B><A>2</A><A>3</A></R>`, `{"A":["1","2","3"],"B":"x"}`},
		"repeated lists":   {records, `<R><Records><r>1</r></Records><Records><r>2</r></Records><Records><r>3</r></Records></R>`, `{"Records":[["1"],["2"],["3"]]}`},
		"empty elements":   {records, `<R><Legal/><Tax> </Tax></R>`, `{"Legal":"","Tax":" "}`},
		"entities, quotes": {records, `<?xml version="1.0" encoding="utf-8"?><R><A>Quill &amp; "Sons"</A></R>`, `{"A":"Quill & \"Sons\""}`},
		"root is a list":   {wire.Schema{Lists: []string{""}}, `<R><string>2026.10</string></R>`, `["2026.10"]`},
		"empty root":       {wire.Schema{Lists: []string{""}}, `<R/>`, `[]`},
		"empty object":     {deep, `<R><Records><Record><Pool/></Record><Record><Pool><Pool/></Pool></Record></Records></R>`, `{"Records":[{"Pool":{}},{"Pool":{"Pool":""}}]}`},
		"same name above":  {deep, `<R><Pool/></R>`, `{"Pool":""}`},
		"numbers":          {deep, `<R><Total> 7 </Total><Records><r><Place><Distance>0.0</Distance></Place></r></Records></R>`, `{"Total":7,"Records":[{"Place":{"Distance":0.0}}]}`},
		"no number":        {deep, `<R><Total>07</Total></R>`, `{"Total":"07"}`},
		"quoted number":    {deep, `<R><Total>"7"</Total></R>`, `{"Total":"\"7\""}`},
		"blank number":     {deep, `<R><Total/></R>`, `{"Total":""}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			v, err := wire.ParseXML([]byte(test.body), test.schema)
			if err != nil {
				t.Fatal(err)
			}
			if got := string(wire.JSON(v)); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestParseJSONP(t *testing.T) {
	const want = `{"ResultCode":"XS01","Results":[{"Address":{}}]}`
	const plain = `{"__type":"ResponseGlobal","ResultCode":"XS01","Results":[{"__type":"ResultGlobal","Address":{"__type":"AddressGlobal"}}]}`
	for name, body := range map[string]string{
		"bare, wrapped":        `{"d":` + plain + `}`,
		"bare":                 plain,
		"called":               `cb7(` + plain + `);`,
		"called, with a space": "\n cb7( " + plain + " )\n",
		"called with a status": `cb7({"d":` + plain + `}, 400);`,
		"parenthesis in text":  `{"d":{"ResultCode":"XS01","Results":[{"Address":{}}],"__type":"a(b"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			v, err := wire.ParseJSONP([]byte(body))
			if err != nil {
				t.Fatal(err)
			}
			if got := string(wire.JSON(v)); got != want {
				t.Errorf("got %s", got)
			}
		})
	}
}

func TestParsersRefuseBadShapes(t *testing.T) {
	deep := strings.Repeat("[", 100_000)
	for name, parse := range map[string]func() error{
		"empty":                 func() error { _, err := wire.ParseJSON(nil); return err },
		"two values":            func() error { _, err := wire.ParseJSON([]byte(`{} {}`)); return err },
		"truncated":             func() error { _, err := wire.ParseJSON([]byte(`{"a":[1,`)); return err },
		"deep":                  func() error { _, err := wire.ParseJSON([]byte(deep)); return err },
		"deep JSONP":            func() error { _, err := wire.ParseJSONP([]byte("cb(" + deep)); return err },
		"call without argument": func() error { _, err := wire.ParseJSONP([]byte("cb();")); return err },
		"page": func() error {
			_, err := wire.ParseXML([]byte("<!DOCTYPE html><HTML><p>x</p></HTML>"), wire.Schema{})
			return err
		},
		"deep XML": func() error {
			_, err := wire.ParseXML([]byte(strings.Repeat("<a>", 100_000)), wire.Schema{})
			return err
		},
		"empty XML": func() error { _, err := wire.ParseXML([]byte("<?xml version='1.0'?>"), wire.Schema{}); return err },
		"custom entity": func() error {
			_, err := wire.ParseXML([]byte(`<!DOCTYPE r [<!ENTITY x "y">]><r>&x;</r>`), wire.Schema{})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			if err := parse(); refusal.ReasonOf(err) != refusal.BadShape {
				t.Errorf("got %v", err)
			}
		})
	}
}

type inner struct {
	City    string
	Unknown wire.Object
}

type outer struct {
	Total   int64
	Key     string  `json:"Base{Prefix}Key"`
	Lat     float64 `json:"Latitude" also:"Laitude"`
	Records []inner
	One     *inner
	Any     wire.Value
	Row     wire.Object
	Ignored string `json:"-"`
	Unknown wire.Object
}

func TestDecode(t *testing.T) {
	tests := map[string]struct {
		body string
		want outer
	}{
		"numbers in texts":     {`{"total":" 7 ","LAITUDE":"38.5"}`, outer{Total: 7, Lat: 38.5}},
		"texts as numbers":     {`{"BaseAcmeKey":4400112233,"Total":7}`, outer{Key: "4400112233", Total: 7}},
		"nulls and blanks":     {`{"Total":null,"Latitude":"","Records":null,"One":"","Row":null}`, outer{}},
		"list of one":          {`{"Records":{"City":"Elmstead"}}`, outer{Records: []inner{{City: "Elmstead"}}}},
		"null in a list":       {`{"Records":[null,{"City":"Elmstead"}]}`, outer{Records: []inner{{}, {City: "Elmstead"}}}},
		"unknown, deep":        {`{"x":1,"One":{"y":[2]}}`, outer{One: &inner{Unknown: wire.Object{{Name: "y", Value: []wire.Value{json.Number("2")}}}}, Unknown: wire.Object{{Name: "x", Value: json.Number("1")}}}},
		"wrong type kept":      {`{"Total":"many","Records":[1]}`, outer{Unknown: wire.Object{{Name: "Total", Value: "many"}, {Name: "Records", Value: []wire.Value{json.Number("1")}}}}},
		"anything":             {`{"Any":[true],"Row":{"b":1,"a":2}}`, outer{Any: []wire.Value{true}, Row: wire.Object{{Name: "b", Value: json.Number("1")}, {Name: "a", Value: json.Number("2")}}}},
		"field without a name": {`{"Ignored":"x"}`, outer{Unknown: wire.Object{{Name: "Ignored", Value: "x"}}}},
		"number too large":     {`{"Total":1e99}`, outer{Unknown: wire.Object{{Name: "Total", Value: json.Number("1e99")}}}},
		"repeated, last wins":  {`{"Total":1,"total":2}`, outer{Total: 2}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			v, err := wire.ParseJSON([]byte(test.body))
			if err != nil {
				t.Fatal(err)
			}
			var got outer
			wire.Decode(v.(wire.Object), &got, "Acme")
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestXMLCanBeParsed(t *testing.T) {
	o := wire.Object{{Name: "CustomerId", Value: "<&>"}, {Name: "Records", Value: []wire.Value{wire.Object{{Name: "City", Value: "Elmstead"}}}}}
	body, err := wire.XML("Request", o, "Record")
	if err != nil {
		t.Fatal(err)
	}
	if want := `<Request><CustomerId>&lt;&amp;&gt;</CustomerId><Records><Record><City>Elmstead</City></Record></Records></Request>`; !strings.HasSuffix(string(body), want) {
		t.Errorf("got %s", body)
	}
	v, err := wire.ParseXML(body, records)
	if diff := cmp.Diff(wire.Value(o), v); diff != "" || err != nil {
		t.Error(err, diff)
	}
}

func FuzzParse(f *testing.F) {
	for _, body := range []string{`{"d":{"a":[1,null,"x"]}}`, `cb({"a":1},400);`, `<R><Records><r>1</r></Records><a/><a/></R>`, "\xff", `{"a":`} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, parse := range []func([]byte) (wire.Value, error){
			wire.ParseJSON, wire.ParseJSONP,
			func(b []byte) (wire.Value, error) { return wire.ParseXML(b, records) },
		} {
			v, err := parse(body)
			if err != nil {
				continue
			}
			again, err := wire.ParseJSON(wire.JSON(v))
			if err != nil {
				t.Fatalf("%s: %v", wire.JSON(v), err)
			}
			if string(wire.JSON(again)) != string(wire.JSON(v)) {
				t.Errorf("%s became %s", wire.JSON(v), wire.JSON(again))
			}
			if o, ok := v.(wire.Object); ok {
				wire.Decode(o, &outer{}, "Acme")
			}
		}
	})
}
