package service_test

import (
	"encoding/json"
	"strings"
	"testing"

	"syncd/internal/emulator/contribution"
	"syncd/internal/emulator/gazetteer"
	"syncd/internal/emulator/property"
	"syncd/internal/emulator/reversegeo"
	"syncd/internal/emulator/service"
	"syncd/internal/emulator/testclient"
)

var config = service.Config{CustomerID: testclient.ID, Prefix: "Provider", World: gazetteer.New()}

func TestBodies(t *testing.T) {
	reverse := testclient.Start(t, reversegeo.New(config)) + "/doLookup"
	lookup := testclient.Start(t, property.New(config)) + "/LookupProperty"
	add := testclient.Start(t, contribution.New(config, new(contribution.Queue))) + "/addMAK"
	tests := []struct {
		name, url, kind, body string
		status                int
		field                 string // at fault
		text                  string
	}{
		{"string", reverse, testclient.JSON, testclient.Body("CustomerId", `,"Latitude":"38.1","Longitude":"-97.5"`), 200, "", ""},
		{"with a charset", reverse, "application/json; charset=utf-8", testclient.Body("CustomerId", `,"Latitude":"38.1","Longitude":"-97.5"`), 200, "", ""},
		{"null is not given", reverse, testclient.JSON, testclient.Body("CustomerId", `,"Latitude":"38.1","Longitude":"-97.5","Options":null`), 200, "", ""},
		{"number in place of a string", reverse, testclient.JSON, testclient.Body("CustomerId", `,"Latitude":38.1,"Longitude":"-97.5"`), 400,
			"$.Latitude", "The JSON value could not be converted to System.String."},
		{"number in a record", lookup, testclient.JSON, testclient.Body("CustomerId", `,"Records":[{"MAK":"1"},{"MAK":4400112233}]`), 400,
			"$.Records[1].MAK", "The JSON value could not be converted to System.String."},
		{"records that are no array", lookup, testclient.JSON, testclient.Body("CustomerId", `,"Records":{}`), 400,
			"$.Records", "The JSON value could not be converted to an array."},
		{"record that is no object", lookup, testclient.JSON, testclient.Body("CustomerId", `,"Records":["a"]`), 400,
			"$.Records[0]", "The JSON value could not be converted to an object."},
		{"unknown members are ignored", reverse, testclient.JSON, testclient.Body("CustomerId", `,"Latitude":"38.1","Longitude":"-97.5","More":1`), 200, "", ""},
		{"broken", reverse, testclient.JSON, `{"CustomerId":`, 400, "$", ""},
		{"no object", reverse, testclient.JSON, `[]`, 400, "$", ""},
		{"more than one", reverse, testclient.JSON, `{} {}`, 400, "$", ""},
		{"empty", reverse, testclient.JSON, ``, 400, "$", ""},
		{"form", reverse, "application/x-www-form-urlencoded", "a=b", 415, "Content-Type", ""},
		{"XML where there is none", add, "application/xml", "<a/>", 415, "Content-Type", ""},
		{"XML with another root", reverse, "application/xml", "<Request/>", 400, "$", ""},
		{"broken XML", reverse, "application/xml", "<RequestArray>", 400, "$", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := testclient.Submit(t, tt.url, tt.kind, tt.body)
			if a.StatusCode != tt.status {
				t.Fatalf("%d %s, want %d", a.StatusCode, a.Text, tt.status)
			}
			if tt.field == "" {
				return
			}
			var p testclient.Problem
			if err := json.Unmarshal([]byte(a.Text), &p); err != nil {
				t.Fatal(err)
			}
			texts := p.Errors[tt.field]
			if p.Status != tt.status || p.Title == "" || p.TraceID == "" || len(texts) != 1 || tt.text != "" && texts[0] != tt.text {
				t.Errorf("%s", a.Text)
			}
		})
	}
}

// The same request as a query and as a body in both formats gives the same
// answer in both formats.
func TestQueryJSONAndXMLAgree(t *testing.T) {
	target := testclient.Start(t, reversegeo.New(config)) + "/doLookup"
	xmlBody := `<?xml version="1.0"?><r:RequestArray xmlns:r="urn:x"><r:CustomerId>` + testclient.ID + `</r:CustomerId>` +
		`<r:Latitude>38.104220</r:Latitude><r:Longitude>-97.551870</r:Longitude><r:MaxRecords>1</r:MaxRecords>` +
		`<r:TransmissionReference>t&amp;1</r:TransmissionReference></r:RequestArray>`
	jsonBody := testclient.Body("CUSTOMERID", `,"latitude":"38.104220","longitude":"-97.551870","maxrecords":"1","transmissionreference":"t&1"`)
	pairs := []string{"LAT", "38.104220", "Long", "-97.551870", "recs", "1", "t", "t&1"}
	answers := map[string]testclient.Answer{
		"query as usual":     testclient.Query(t, target, pairs...),
		"query as XML":       testclient.Query(t, target, append(pairs, "format", "XML")...),
		"query as JSON":      testclient.Query(t, target, append(pairs, "Format", "JSON")...),
		"XML and an XML":     testclient.Submit(t, target, "application/xml", xmlBody),
		"JSON and a JSON":    testclient.Submit(t, target, testclient.JSON, jsonBody),
		"JSON and no Accept": testclient.SubmitAccepting(t, target, testclient.JSON, "", jsonBody),
		"JSON and any":       testclient.SubmitAccepting(t, target, testclient.JSON, "*/*", jsonBody),
		"XML and a JSON":     testclient.SubmitAccepting(t, target, "application/xml", testclient.JSON, xmlBody),
		"JSON and an XML":    testclient.SubmitAccepting(t, target, testclient.JSON, "application/xml;q=0.9, */*;q=0.1", jsonBody),
	}
	for name, a := range answers {
		asXML := strings.HasSuffix(name, "XML") || name == "query as usual"
		if got := a.Header.Get("Content-Type"); strings.HasPrefix(got, "application/xml") != asXML {
			t.Errorf("%s: %s", name, got)
		}
		want := `"TransmissionReference":"t&1"`
		if asXML {
			want = "<TransmissionReference>t&amp;1</TransmissionReference>"
		}
		if a.StatusCode != 200 || !strings.Contains(a.Text, want) || !strings.Contains(a.Text, "4400112233") {
			t.Errorf("%s: %d %s", name, a.StatusCode, a.Text)
		}
	}
}
