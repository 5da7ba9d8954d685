package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"syncd/internal/emulator"
)

// withServices configures all services of the emulator, not only the release service.
func (h *host) withServices() *host {
	h.Helper()
	p := h.provider
	h.settings.more = fmt.Sprintf(`services:
  prefix: Provider
  contribution: {url: %q}
  list: {url: %q}
  property: {url: %q}
  autocomplete: {url: %q, jsonp_url: %q}
  reversegeo: {url: %q}`,
		p.ContributionURL(), p.ListURL(), p.PropertyURL(), p.AutocompleteURL(), p.AutocompleteJSONPURL(), p.ReverseGeoURL())
	h.configure()
	return h
}

// checkUnsent expects exit code 2, the texts on stderr, and no output.
func (h *host) checkUnsent(args string, texts ...string) {
	h.Helper()
	r := h.expect(2, append([]string{"call"}, strings.Fields(args)...)...)
	h.contains("stderr", r.stderr, texts...)
	if r.stdout != "" {
		h.Errorf("stdout %q", r.stdout)
	}
}

func TestOperationNamesIgnoreCase(t *testing.T) {
	t.Parallel()
	h := newHost(t).withServices()
	h.contains("stdout", h.expect(0, "call", "property", "lookupPROPERTY", "mak=4400112233").stdout, "14-220-07")
	h.contains("stdout", h.expect(0, "call", "LIST", "mak/docount", "includes.zips=66999").stdout, `"Count"`)
	h.contains("stdout", h.expect(0, "call", "releases", "sha1/data", "release=2026.10", "filename=ews.txt").stdout, `"`)
	h.contains("help", h.expect(0, "call", "property", "LOOKUPDEEDS", "--help").stdout, "Look up the deeds")
}

func TestCallSuggestsNearNames(t *testing.T) {
	t.Parallel()
	h := newHost(t).withServices()
	for args, want := range map[string]string{
		"property LookupDeed mak=1":        "did you mean LookupDeeds?",
		"property lokupdeeds":              "did you mean LookupDeeds?",
		"autocomplete FreeForm ff=x":       "did you mean GlobalExpressFreeForm?",
		"releases MD5/Libary":              "MD5/Library",
		"releases Metadata release=x":      "did you mean Metadata/Library or Metadata/Data or Metadata/Interface or Metadata/Product?",
		"list doCount":                     "MAK/doCount",
		"propertyy LookupDeeds":            `call has no service "propertyy": did you mean property?`,
		"contribution nothing-of-the-kind": "contribution has no operation \"nothing-of-the-kind\" (`syncd call contribution` lists all)",
	} {
		h.checkUnsent(args, want)
	}
}

func TestCallTellsAllProblemsAtOnce(t *testing.T) {
	t.Parallel()
	h := newHost(t).withServices()
	h.checkUnsent("contribution addMAK", "missing a1 (text), loc (text), admarea (text), postal (text), ctry (two-letter country code), lat (latitude from -90 to 90), long (longitude from -180 to 180)")
	h.checkUnsent("reversegeo doLookup lat=91 recs=0", "missing long (", "lat must be a number from -90 to 90", "recs must be a whole number")
	h.checkUnsent("property LookupProperty --post MAK=1 TotalRecords=1", "TotalRecords is filled in (the number of records): leave it out")
	h.checkUnsent("autocomplete GlobalExpressCountry country=land --format jsonp", "use --jsonp in place of --format jsonp")
	h.checkUnsent("property LookupDeeds mak=1 --format JSONP", "format JSONP must be one of json, xml")
	h.checkUnsent("contribution changeMAK ProviderAddressKey=1 Current.City=A ChangeTo.State=KS", "Current and ChangeTo must have the same keys: only Current has City, and only ChangeTo has State")
}

func TestDryRunPrintsTheRequest(t *testing.T) {
	t.Parallel()
	h := newHost(t).withServices()
	h.provider.ResetRequests()
	tests := map[string]struct {
		args []string
		want string
	}{
		"GET": {
			[]string{"reversegeo", "doLookup", "lat=38.1", "long=-97.5"},
			"GET " + h.provider.ReverseGeoURL() + "/doLookup?format=json&id=REDACTED&lat=38.1&long=-97.5\nAccept: application/json\n",
		},
		"POST": {
			[]string{"property", "LookupProperty", "--post", "MAK=44"},
			"POST " + h.provider.PropertyURL() + "/LookupProperty\nAccept: application/json\nContent-Type: application/json\n\n" +
				`{"CustomerId":"REDACTED","TotalRecords":"1","Records":[{"MAK":"44"}]}` + "\n",
		},
		"JSONP": {
			[]string{"autocomplete", "GlobalExpressCountry", "country=land", "--jsonp", "callback=cb7"},
			"GET " + h.provider.AutocompleteJSONPURL() + "/GlobalExpressCountry?callback=cb7&country=land&format=jsonp&id=REDACTED\nAccept: application/json\n",
		},
		"submission": {
			[]string{"contribution", "removeMAK", "act=delete", "mak=44"},
			"GET " + h.provider.ContributionURL() + "/removeMAK?act=delete&id=REDACTED&mak=44\nAccept: application/json\n",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			h := *h
			h.T = t
			r := h.expect(0, append([]string{"call", "--dry-run"}, test.args...)...)
			if r.stdout != test.want {
				t.Errorf("got:\n%s\nwant:\n%s", r.stdout, test.want)
			}
		})
	}
	h.checkUnsent("property LookupDeeds --dry-run", "needs any one of")
	if sent := h.provider.Requests(); len(sent) > 0 {
		t.Errorf("sent %v", sent)
	}
}

// The JSON printed for an XML answer is that of the JSON answer.
func TestXMLIsPrintedAsJSON(t *testing.T) {
	t.Parallel()
	h := newHost(t).withServices()
	for _, args := range []string{
		"property LookupProperty mak=4400112233 cols=GrpParcel",
		"property LookupProperty mak=4400112233 cols=GrpAll",
		"property LookupProperty mak=9999999999",
		"property LookupDeeds mak=4400112233 opt=RecordsPerPage:3",
		"property LookupHomesByOwner mak=4400112233",
		"reversegeo doLookup lat=38.10422 long=-97.55187 recs=1",
		"reversegeo doLookup lat=0 long=0",
		"reversegeo doLookupPostalCodes lat=38.10422 long=-97.55187 recs=1",
		"autocomplete GlobalExpressFreeForm ff=larksp filterterm=latlong filterlist=38.1,-97.5 sortType=distance",
		"autocomplete GlobalExpressCountry country=iceland",
		"autocomplete GlobalExpressCountry country=nowhere",
		"releases ManifestReleases manifest=dq_addr_data",
		"releases Releases/Data filename=ews.txt",
		"releases Manifest release=2026.10 manifest=dq_addr_data",
		"releases Metadata/Data release=2026.10 filename=ews.txt",
		"releases MD5/Data release=2026.10 filename=ews.txt",
	} {
		call := append([]string{"call"}, strings.Fields(args)...)
		asJSON := h.expect(0, call...).stdout
		asXML := h.expect(0, append(call, "--format", "xml")...).stdout
		same(h, args, strings.Split(asJSON, "\n"), strings.Split(asXML, "\n"))
	}
}

// A 404 names the missing file once on stderr, and its body ends with a newline.
func TestNotFoundIsPrintedOnce(t *testing.T) {
	t.Parallel()
	h := newHost(t).withServices()
	for _, operation := range []string{"Metadata/Data", "Download/Data"} {
		r := h.expect(1, "call", "releases", operation, "release=2026.10", "filename=none.txt")
		if strings.Count(r.stderr, "There is no such file") != 1 || !strings.HasSuffix(r.stdout, "\n}\n") {
			t.Errorf("%s: stderr %q, stdout %q", operation, r.stderr, r.stdout)
		}
	}
}

func TestCallErrors(t *testing.T) {
	t.Parallel()
	h := newHost(t).withServices()
	h.provider.ResetRequests()
	for name, args := range map[string]struct {
		args string
		want string
	}{
		"unknown operation": {"property LookupListings", `property has no operation "LookupListings"`},
		"minimum":           {"property LookupDeeds fips=20999", "needs any one of: fips+apn, mak, ff"},
		"unknown name":      {"property LookupDeeds colour=red", "unknown input colour"},
		"form":              {"autocomplete GlobalExpressCountry country=land --post", "cannot be called with POST"},
		"format":            {"contribution removeMAK act=delete mak=1 --format xml", "format xml must be one of json"},
		"script":            {"property LookupDeeds mak=1 --jsonp", "has no JSONP form"},
		"both methods":      {"property LookupDeeds mak=1 --get --post", "--get and --post exclude each other"},
		"body of a GET":     {"property LookupDeeds --get --body -", "--body needs POST"},
		"missing body file": {"property LookupDeeds --body none.json", "none.json"},
		"Customer ID":       {"property LookupDeeds mak=1 id=mine", "the Customer ID is filled in"},
		"traversal":         {"releases Metadata/Data release=.. filename=x", "release "},
		"unknown hash":      {"releases CRC32/Data release=2026.10 filename=x", `releases has no operation "CRC32/Data"`},
		"no columns":        {"list MAK/doLookup Includes.Zips=66999 Page=1", "missing Columns (list of texts)"},
		"limits":            {"reversegeo doLookup lat=1 long=2 recs=101", "recs must be a whole number from 1 to 100"},
		"unknown filter":    {`list Consumer/doCount Includes={"Zips":[{"Zip":"1"}],"SellDate":{}}`, "unknown input Includes.SellDate: --help lists the known inputs"},
	} {
		t.Run(name, func(t *testing.T) {
			h := *h
			h.T = t
			r := h.expect(2, append([]string{"call"}, strings.Fields(args.args)...)...)
			h.contains("stderr", r.stderr, args.want)
			if r.stdout != "" {
				t.Errorf("stdout %q", r.stdout)
			}
		})
	}
	if sent := h.provider.Requests(); len(sent) > 0 {
		t.Errorf("sent %v", sent)
	}
}

func TestCallShowsWhatWentWrong(t *testing.T) {
	h := newHost(t).withServices()
	property := []string{"call", "property", "LookupProperty", "mak=4400112233"}
	fault := func(f emulator.Fault) {
		h.provider.ClearFaults()
		f.Host = emulator.HostProperty
		h.provider.AddFault(f)
	}

	fault(emulator.Fault{Kind: emulator.KindBody, Body: `{"TransmissionResults":"GE14,GW01","Records":null,"Note":"{id}"}`})
	r := h.expect(1, property...)
	h.contains("stderr", r.stderr, "GE14 (out of credit)")
	h.contains("stdout", r.stdout, `"TransmissionResults": "GE14,GW01"`, "REDACTED")
	r = h.expect(1, append(property, "--raw")...)
	h.contains("stdout", r.stdout, `"Records":null,"Note":"REDACTED"`)

	fault(emulator.Fault{Kind: emulator.KindStatus, Status: 400, Shape: "title"})
	r = h.expect(1, property...)
	h.contains("stderr", r.stderr, "status 400", "request: Bad Request", "trace ")
	h.contains("stdout", r.stdout, `"traceId"`)

	fault(emulator.Fault{Kind: emulator.KindShape, Shape: "html"})
	h.contains("stderr", h.expect(1, property...).stderr, "a web page instead of data")

	fault(emulator.Fault{Kind: emulator.KindStatus, Status: 503, Times: 2})
	h.expect(0, property...)

	h.provider.ClearFaults()
	h.provider.AddFault(emulator.Fault{Kind: emulator.KindStatus, Status: 503, Host: emulator.HostContribution})
	h.provider.ResetRequests()
	h.expect(1, "call", "contribution", "removeMAK", "act=delete", "mak=4400112233")
	if sent := h.provider.Requests(); len(sent) != 1 {
		t.Errorf("a contribution was sent %d times", len(sent))
	}
}

func TestCallBodies(t *testing.T) {
	h := newHost(t).withServices()
	h.write("request.json", `{"Records":[{"RecordID":"a","MAK":4400112233},{"RecordID":"b","AddressLine1":"12 Larkspur Way","PostalCode":"66999","Colour":"red"}]}`, 0o600)
	r := h.expect(0, "call", "property", "LookupProperty", "--body", "request.json", "Columns=GrpParcel", "--raw")
	h.contains("stdout", r.stdout, `"RecordID":"a"`, `"RecordID":"b"`, "14-220-07")
	h.contains("stderr", r.stderr, "Records.Colour is not a known input of LookupProperty and is sent unchecked")
	sent := h.provider.Requests()
	if body := sent[len(sent)-1].Body; !strings.Contains(body, `"TotalRecords":"2"`) || !strings.Contains(body, `"MAK":"4400112233"`) || !strings.Contains(body, `"Columns":"GrpParcel"`) {
		t.Errorf("sent %s", body)
	}
	h.write("request.xml", `<LookupPropertyRequest><Records><Record><MAK>4400112233</MAK></Record></Records></LookupPropertyRequest>`, 0o600)
	r = h.expect(0, "call", "property", "LookupProperty", "--body", "request.xml", "--format", "xml", "--raw")
	h.contains("stdout", r.stdout, "<LookupPropertyResponse", "14-220-07")
	r = h.expect(0, "call", "autocomplete", "GlobalExpressFreeForm", "ff=12 larksp", "listtype=white")
	h.contains("stderr", r.stderr, "listtype is not a known input of GlobalExpressFreeForm and is sent unchecked")
	cmd := h.command("call", "property", "LookupDeeds", "--body", "-")
	cmd.Stdin = strings.NewReader(`{"PropertyMAK":"4400112233"}`)
	out, err := cmd.Output()
	h.must(err)
	h.contains("stdout", string(out), `"Records": [`)
}

// The services return the same data about one address.
func TestServicesAgree(t *testing.T) {
	h := newHost(t).withServices()
	var completed struct {
		Results []struct {
			Address struct{ MAK, Latitude, Longitude string }
		}
	}
	h.callInto(&completed, "autocomplete", "GlobalExpressFreeForm", "ff=12 larksp elmstead")
	address := completed.Results[0].Address
	var found struct {
		Records []struct{ ProviderAddressKey string }
	}
	h.callInto(&found, "reversegeo", "doLookup", "lat="+address.Latitude, "long="+address.Longitude, "recs=1")
	same(h, "reverse geocoding", address.MAK, found.Records[0].ProviderAddressKey)
	var parcel struct {
		Records []struct{ Parcel struct{ FormattedAPN string } }
	}
	h.callInto(&parcel, "property", "LookupProperty", "mak="+address.MAK)
	same(h, "property", "14-220-07", parcel.Records[0].Parcel.FormattedAPN)
	h.expect(0, "call", "contribution", "removeMAK", "act=delete", "mak="+address.MAK)
	if queued := h.provider.Contributions(); len(queued) != 1 || queued[0].Operation != "removeMAK" {
		t.Errorf("queued %v", queued)
	}
}

func (h *host) callInto(into any, args ...string) {
	h.Helper()
	r := h.expect(0, append([]string{"call"}, args...)...)
	h.must(json.Unmarshal([]byte(r.stdout), into))
}

func TestCallNeedsAnAddress(t *testing.T) {
	h := newHost(t)
	h.contains("stderr", h.expect(2, "call", "property", "LookupDeeds", "mak=1").stderr, "set services.property.url")
}
