package commands_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"syncd/cmd/syncd/call"
	"syncd/internal/clients/service"
	"syncd/internal/clients/wire"
	"syncd/internal/e2e"
	"syncd/internal/emulator"
)

// withServices configures all services of the emulator, not only the release service.
func withServices(h *e2e.Host) *e2e.Host {
	h.Helper()
	p := h.Provider
	h.Settings.More = fmt.Sprintf(`services:
  prefix: Provider
  contribution: {url: %q}
  list: {url: %q}
  property: {url: %q}
  autocomplete: {url: %q, jsonp_url: %q}
  reversegeo: {url: %q}`,
		p.ContributionURL(), p.ListURL(), p.PropertyURL(), p.AutocompleteURL(), p.AutocompleteJSONPURL(), p.ReverseGeoURL())
	h.Configure()
	return h
}

// checkUnsent expects exit code 2, the texts on stderr, and no output.
func checkUnsent(h *e2e.Host, args string, texts ...string) {
	h.Helper()
	r := h.Expect(2, append([]string{"call"}, strings.Fields(args)...)...)
	h.Contains("stderr", r.Stderr, texts...)
	if r.Stdout != "" {
		h.Errorf("stdout %q", r.Stdout)
	}
}

func TestOperationNamesIgnoreCase(t *testing.T) {
	t.Parallel()
	h := withServices(e2e.NewHost(t))
	h.Contains("stdout", h.Expect(0, "call", "property", "lookupPROPERTY", "mak=4400112233").Stdout, "14-220-07")
	h.Contains("stdout", h.Expect(0, "call", "LIST", "mak/docount", "includes.zips=66999").Stdout, `"Count"`)
	h.Contains("stdout", h.Expect(0, "call", "releases", "sha1/data", "release=2026.10", "filename=ews.txt").Stdout, `"`)
	h.Contains("help", h.Expect(0, "call", "property", "LOOKUPDEEDS", "--help").Stdout, "Look up the deeds")
}

func TestCallSuggestsNearNames(t *testing.T) {
	t.Parallel()
	h := withServices(e2e.NewHost(t))
	for args, want := range map[string]string{
		"property LookupDeed mak=1":        "did you mean LookupDeeds?",
		"property lokupdeeds":              "did you mean LookupDeeds?",
		"autocomplete FreeForm ff=x":       "did you mean GlobalExpressFreeForm?",
		"releases MD5/Libary":              "MD5/Library",
		"releases Metadata release=x":      "did you mean Metadata/Data or Metadata/Interface or Metadata/Library or Metadata/Product?",
		"list doCount":                     "MAK/doCount",
		"propertyy LookupDeeds":            `call has no service "propertyy": did you mean property?`,
		"contribution nothing-of-the-kind": "contribution has no operation \"nothing-of-the-kind\" (`syncd call contribution` lists all)",
	} {
		checkUnsent(h, args, want)
	}
}

func TestCallTellsAllProblemsAtOnce(t *testing.T) {
	t.Parallel()
	h := withServices(e2e.NewHost(t))
	checkUnsent(h, "contribution addMAK", "missing a1 (text), loc (text), admarea (text), postal (text), ctry (two-letter country code), lat (latitude from -90 to 90), long (longitude from -180 to 180)")
	checkUnsent(h, "reversegeo doLookup lat=91 recs=0", "missing long (", "lat must be a number from -90 to 90", "recs must be a whole number")
	checkUnsent(h, "property LookupProperty --post MAK=1 TotalRecords=1", "TotalRecords is filled in (the number of records): leave it out")
	checkUnsent(h, "autocomplete GlobalExpressCountry country=land --format jsonp", "use --jsonp in place of --format jsonp")
	checkUnsent(h, "property LookupDeeds mak=1 --format JSONP", "format JSONP must be one of json, xml")
	checkUnsent(h, "contribution changeMAK ProviderAddressKey=1 Current.City=A ChangeTo.State=KS", "Current and ChangeTo must have the same keys: only Current has City, and only ChangeTo has State")
}

func TestDryRunPrintsTheRequest(t *testing.T) {
	t.Parallel()
	h := withServices(e2e.NewHost(t))
	h.Provider.ResetRequests()
	tests := map[string]struct {
		args []string
		want string
	}{
		"GET": {
			[]string{"reversegeo", "doLookup", "lat=38.1", "long=-97.5"},
			"GET " + h.Provider.ReverseGeoURL() + "/doLookup?format=json&id=REDACTED&lat=38.1&long=-97.5\nAccept: application/json\n",
		},
		"POST": {
			[]string{"property", "LookupProperty", "--post", "MAK=44"},
			"POST " + h.Provider.PropertyURL() + "/LookupProperty\nAccept: application/json\nContent-Type: application/json\n\n" +
				`{"CustomerId":"REDACTED","TotalRecords":"1","Records":[{"MAK":"44"}]}` + "\n",
		},
		"JSONP": {
			[]string{"autocomplete", "GlobalExpressCountry", "country=land", "--jsonp", "callback=cb7"},
			"GET " + h.Provider.AutocompleteJSONPURL() + "/GlobalExpressCountry?callback=cb7&country=land&format=jsonp&id=REDACTED\nAccept: application/json\n",
		},
		"submission": {
			[]string{"contribution", "removeMAK", "act=delete", "mak=44"},
			"GET " + h.Provider.ContributionURL() + "/removeMAK?act=delete&id=REDACTED&mak=44\nAccept: application/json\n",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			h := *h
			h.T = t
			r := h.Expect(0, append([]string{"call", "--dry-run"}, test.args...)...)
			if r.Stdout != test.want {
				t.Errorf("got:\n%s\nwant:\n%s", r.Stdout, test.want)
			}
		})
	}
	checkUnsent(h, "property LookupDeeds --dry-run", "needs any one of")
	if sent := h.Provider.Requests(); len(sent) > 0 {
		t.Errorf("sent %v", sent)
	}
}

// An XML answer is printed as XML, and says what the JSON answer says.
func TestXMLIsPrintedAsXML(t *testing.T) {
	t.Parallel()
	h := withServices(e2e.NewHost(t))
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
		asJSON := h.Expect(0, call...).Stdout
		asXML := h.Expect(0, append(call, "--format", "xml")...).Stdout
		if !strings.HasPrefix(asXML, "<?xml") || !strings.HasSuffix(asXML, ">\n") {
			h.Errorf("%s: printed %s", args, asXML)
		}
		value, err := wire.ParseXML([]byte(asXML), operation(h, call[1], call[2]).XML.Schema)
		h.Must(err)
		e2e.Same(h, args, strings.Split(asJSON, "\n"), strings.Split(string(wire.Indent(value)), "\n"))
	}
}

func operation(h *e2e.Host, name, operation string) *service.Operation {
	h.Helper()
	for _, c := range call.Services() {
		for _, op := range c.Operations {
			for _, variant := range op.Variants() {
				if c.Name == name && variant.Name == operation {
					return variant
				}
			}
		}
	}
	h.Fatalf("%s has no %s", name, operation)
	return nil
}

// --include prints the head before the answer, --verbose the heads of all requests and
// answers on stderr, both without the Customer ID.
func TestCallShowsHeads(t *testing.T) {
	t.Parallel()
	h := withServices(e2e.NewHost(t))
	r := h.Expect(0, "call", "property", "LookupProperty", "mak=4400112233", "-i")
	head, body, _ := strings.Cut(r.Stdout, "\n\n")
	h.Contains("head", head, "HTTP/1.1 200 OK\n", "Content-Type: application/json")
	if !json.Valid([]byte(body)) || r.Stderr != "" {
		t.Errorf("stderr %q, body %s", r.Stderr, body)
	}
	r = h.Expect(1, "call", "releases", "Manifest", "release=1999.01", "manifest=none", "--include")
	h.Contains("head of an error", r.Stdout, "HTTP/1.1 404 Not Found\n")
	h.Provider.AddFault(emulator.Fault{Kind: emulator.KindStatus, Status: 503, Times: 1, Host: emulator.HostProperty})
	r = h.Expect(0, "call", "property", "LookupProperty", "--post", "a1=12 Larkspur Way", "postal=66999", "-v")
	h.Contains("stderr", r.Stderr, "> POST "+h.Provider.PropertyURL()+"/LookupProperty\n> Accept: application/json\n", "< HTTP/1.1 503 ", "< HTTP/1.1 200 OK\n< ")
	r = h.Expect(0, "call", "property", "LookupProperty", "mak=4400112233", "-v")
	h.Contains("stderr", r.Stderr, "> GET "+h.Provider.PropertyURL()+"/LookupProperty?format=json&id=REDACTED&mak=4400112233\n")
	if strings.Contains(r.Stderr, e2e.CustomerID) || !json.Valid([]byte(r.Stdout)) {
		t.Errorf("stderr %q", r.Stderr)
	}
}

// The command of --curl gets the answer that the call itself gets.
func TestCurlDoesTheSame(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("NOT TESTED: no curl")
	}
	h := withServices(e2e.NewHost(t))
	for _, args := range []string{
		"property LookupProperty a1=12 Larkspur Way|postal=66999",
		"property LookupProperty ff=O'Brien & $HOME \"ü\" %41+|--post",
		"property LookupProperty mak=4400112233|--post|--format|xml",
		"autocomplete GlobalExpressFreeForm ff=12 larksp|--jsonp|callback=cb7",
		"reversegeo doLookup lat=38.10422|long=-97.55187|recs=2",
		"releases ManifestReleases manifest=dq_addr_data",
	} {
		words := strings.SplitN(args, " ", 3)
		call := append([]string{"call", words[0], words[1], "--raw"}, strings.Split(words[2], "|")...)
		h.Provider.ResetRequests()
		r := h.Expect(0, append(call, "--curl")...)
		if sent := h.Provider.Requests(); len(sent) > 0 || strings.Contains(r.Stdout, e2e.CustomerID) {
			t.Errorf("%s: sent %v, printed %s", args, sent, r.Stdout)
		}
		curl := exec.Command("sh", "-c", r.Stdout)
		id := e2e.CustomerID
		if strings.Contains(args, "xml") { // the shell escapes nothing in a body
			id = strings.ReplaceAll(id, "&", "&amp;")
		}
		curl.Env = append(os.Environ(), "SYNCD_CUSTOMER_ID="+id, "HOME=/none")
		out, err := curl.Output()
		h.Must(err)
		e2e.Same(h, args, h.Expect(0, call...).Stdout, string(out))
	}
}

// A 404 names the missing file once on stderr, and its body ends with a newline.
func TestNotFoundIsPrintedOnce(t *testing.T) {
	t.Parallel()
	h := withServices(e2e.NewHost(t))
	for _, operation := range []string{"Metadata/Data", "Download/Data"} {
		r := h.Expect(1, "call", "releases", operation, "release=2026.10", "filename=none.txt")
		if strings.Count(r.Stderr, "There is no such file") != 1 || !strings.HasSuffix(r.Stdout, "\n}\n") {
			t.Errorf("%s: stderr %q, stdout %q", operation, r.Stderr, r.Stdout)
		}
	}
}

func TestCallErrors(t *testing.T) {
	t.Parallel()
	h := withServices(e2e.NewHost(t))
	h.Provider.ResetRequests()
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
			r := h.Expect(2, append([]string{"call"}, strings.Fields(args.args)...)...)
			h.Contains("stderr", r.Stderr, args.want)
			if r.Stdout != "" {
				t.Errorf("stdout %q", r.Stdout)
			}
		})
	}
	if sent := h.Provider.Requests(); len(sent) > 0 {
		t.Errorf("sent %v", sent)
	}
}

func TestCallShowsWhatWentWrong(t *testing.T) {
	h := withServices(e2e.NewHost(t))
	property := []string{"call", "property", "LookupProperty", "mak=4400112233"}
	fault := func(f emulator.Fault) {
		h.Provider.ClearFaults()
		f.Host = emulator.HostProperty
		h.Provider.AddFault(f)
	}

	fault(emulator.Fault{Kind: emulator.KindBody, Body: `{"TransmissionResults":"GE14,GW01","Records":null,"Note":"{id}"}`})
	r := h.Expect(1, property...)
	h.Contains("stderr", r.Stderr, "GE14 (out of credit)")
	h.Contains("stdout", r.Stdout, `"TransmissionResults": "GE14,GW01"`, "REDACTED")
	r = h.Expect(1, append(property, "--raw")...)
	h.Contains("stdout", r.Stdout, `"Records":null,"Note":"REDACTED"`)

	fault(emulator.Fault{Kind: emulator.KindStatus, Status: 400, Shape: "title"})
	r = h.Expect(1, property...)
	h.Contains("stderr", r.Stderr, "status 400", "request: Bad Request", "trace ")
	h.Contains("stdout", r.Stdout, `"traceId"`)

	fault(emulator.Fault{Kind: emulator.KindShape, Shape: "html"})
	h.Contains("stderr", h.Expect(1, property...).Stderr, "a web page instead of data")

	fault(emulator.Fault{Kind: emulator.KindStatus, Status: 503, Times: 2})
	h.Expect(0, property...)

	h.Provider.ClearFaults()
	h.Provider.AddFault(emulator.Fault{Kind: emulator.KindStatus, Status: 503, Host: emulator.HostContribution})
	h.Provider.ResetRequests()
	h.Expect(1, "call", "contribution", "removeMAK", "act=delete", "mak=4400112233")
	if sent := h.Provider.Requests(); len(sent) != 1 {
		t.Errorf("a contribution was sent %d times", len(sent))
	}
}

func TestCallBodies(t *testing.T) {
	h := withServices(e2e.NewHost(t))
	h.Write("request.json", `{"Records":[{"RecordID":"a","MAK":4400112233},{"RecordID":"b","AddressLine1":"12 Larkspur Way","PostalCode":"66999","Colour":"red"}]}`, 0o600)
	r := h.Expect(0, "call", "property", "LookupProperty", "--body", "request.json", "Columns=GrpParcel", "--raw")
	h.Contains("stdout", r.Stdout, `"RecordID":"a"`, `"RecordID":"b"`, "14-220-07")
	h.Contains("stderr", r.Stderr, "Records.Colour is not a known input of LookupProperty and is sent unchecked")
	sent := h.Provider.Requests()
	if body := sent[len(sent)-1].Body; !strings.Contains(body, `"TotalRecords":"2"`) || !strings.Contains(body, `"MAK":"4400112233"`) || !strings.Contains(body, `"Columns":"GrpParcel"`) {
		t.Errorf("sent %s", body)
	}
	h.Write("request.xml", `<LookupPropertyRequest><Records><Record><MAK>4400112233</MAK></Record></Records></LookupPropertyRequest>`, 0o600)
	r = h.Expect(0, "call", "property", "LookupProperty", "--body", "request.xml", "--format", "xml", "--raw")
	h.Contains("stdout", r.Stdout, "<LookupPropertyResponse", "14-220-07")
	r = h.Expect(0, "call", "autocomplete", "GlobalExpressFreeForm", "ff=12 larksp", "listtype=white")
	h.Contains("stderr", r.Stderr, "listtype is not a known input of GlobalExpressFreeForm and is sent unchecked")
	cmd := h.Command("call", "property", "LookupDeeds", "--body", "-")
	cmd.Stdin = strings.NewReader(`{"PropertyMAK":"4400112233"}`)
	out, err := cmd.Output()
	h.Must(err)
	h.Contains("stdout", string(out), `"Records": [`)
}

// The services return the same data about one address.
func TestServicesAgree(t *testing.T) {
	h := withServices(e2e.NewHost(t))
	var completed struct {
		Results []struct {
			Address struct{ MAK, Latitude, Longitude string }
		}
	}
	callInto(h, &completed, "autocomplete", "GlobalExpressFreeForm", "ff=12 larksp elmstead")
	address := completed.Results[0].Address
	var found struct {
		Records []struct{ ProviderAddressKey string }
	}
	callInto(h, &found, "reversegeo", "doLookup", "lat="+address.Latitude, "long="+address.Longitude, "recs=1")
	e2e.Same(h, "reverse geocoding", address.MAK, found.Records[0].ProviderAddressKey)
	var parcel struct {
		Records []struct{ Parcel struct{ FormattedAPN string } }
	}
	callInto(h, &parcel, "property", "LookupProperty", "mak="+address.MAK)
	e2e.Same(h, "property", "14-220-07", parcel.Records[0].Parcel.FormattedAPN)
	h.Expect(0, "call", "contribution", "removeMAK", "act=delete", "mak="+address.MAK)
	if queued := h.Provider.Contributions(); len(queued) != 1 || queued[0].Operation != "removeMAK" {
		t.Errorf("queued %v", queued)
	}
}

func callInto(h *e2e.Host, into any, args ...string) {
	h.Helper()
	r := h.Expect(0, append([]string{"call"}, args...)...)
	h.Must(json.Unmarshal([]byte(r.Stdout), into))
}

func TestCallNeedsAnAddress(t *testing.T) {
	h := e2e.NewHost(t)
	h.Contains("stderr", h.Expect(2, "call", "property", "LookupDeeds", "mak=1").Stderr, "set services.property.url")
}
