package commands_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"syncd/cmd/syncd/call"
	"syncd/internal/clients/service"
	"syncd/internal/e2e"
	"syncd/internal/emulator"
)

// sampleCalls holds the arguments of one valid call of every operation. Arguments
// of the POST form follow "--post".
var sampleCalls = map[string]string{
	"contribution addMAK":                                  `a1=14|loc=Elmstead|admarea=KS|postal=66999|ctry=US|lat=38.1|long=-97.5|reason=New --post AddressLine1=14|Locality=Elmstead|AdministrativeArea=KS|PostalCode=66999|Country=US|Latitude=38.1|Longitude=-97.5`,
	"contribution changeGeoPoint":                          `ctry=US|mak=4400112233|lat=38.1|long=-97.5|reason=Rail --post Country=US|ProviderAddressKey=4400112233|Latitude=38.1|Longitude=-97.5`,
	"contribution changeMAK":                               `--post ProviderAddressKey=4400112233|Current.City=Elmstead|ChangeTo.City=Larkford`,
	"contribution removeMAK":                               `act=delete|mak=4400112233 --post Action=suppression|ProviderAddressKey=4400112233`,
	"contribution addMIK":                                  `--post Add.City=Elmstead|Add.AddressLine1=12`,
	"contribution changeMIK":                               `--post ProviderIdentityKey=99|Current.City=Elmstead|ChangeTo.City=Larkford`,
	"contribution removeMIK":                               `act=cpadelete|mik=99 --post Action=delete|AddressLine1=12|AddressLine2=|City=Elmstead|FullName=Ada|PostalCode=66999|State=KS`,
	"property LookupProperty":                              `a1=12 Larkspur Way|postal=66999|cols=GrpAll --post AddressLine1=12 Larkspur Way|PostalCode=66999|RecordID=a`,
	"property LookupDeeds":                                 `fips=20999|apn=14-220-07|opt=RecordsPerPage:3 --post FIPS=20999|APN=14-220-07`,
	"property LookupHomesByOwner":                          `mak=4400112233 --post OwnerMAK=4400112233`,
	"autocomplete GlobalExpressAddress":                    `country=US|address1=12 Lark|locality=Elmstead`,
	"autocomplete GlobalExpressCountry":                    `country=land`,
	"autocomplete GlobalExpressFreeForm":                   `country=US|ff=12 larksp elmstead`,
	"autocomplete GlobalExpressLocalityAdministrativeArea": `country=US|locality=Elm`,
	"autocomplete GlobalExpressPostalCode":                 `country=US|postalcode=66999`,
	"autocomplete GlobalExpressThoroughfare":               `country=US|thoroughfare=Lark`,
	"reversegeo doLookup":                                  `lat=38.10422|long=-97.55187|recs=2 --post Latitude=38.10422|Longitude=-97.55187|MaxRecords=2`,
	"reversegeo doLookupPostalCodes":                       `lat=38.10422|long=-97.55187|opt=Level:Plus4 --post Latitude=38.10422|Longitude=-97.55187`,
	"reversegeo doLookupFromList":                          `--post Latitude=38.1|Longitude=-97.5|Records.ProviderAddressKey=4400112233|Records.RecordID=a`,
	"releases Browse":                                      `mft=dq_addr_data`,
	"releases ManifestReleases":                            `manifest=dq_addr_data`,
	"releases Manifest":                                    `release=latest|manifest=dq_addr_data`,
	"releases ManifestList":                                `release=2026.10`,
	"releases Library":                                     `os=LINUX|compiler=GCC48|architecture=64BIT|filename=libmdAddr.so`,
	"releases Data":                                        `filename=ews.txt`,
	"releases Interface":                                   `os=LINUX|language=JAVA|architecture=64BIT|filename=libmdAddrJavaWrapper.so`,
	"releases Product":                                     `productname=product.zip`,
	"releases release of Library":                          `release=2026.10`,
	"releases release of Data":                             `release=2026.10`,
	"releases release of Interface":                        `release=2026.09`,
	"releases release of Product":                          `release=2026.10`,
}

// listCall returns the arguments of an operation of a list.
func listCall(group, operation string) string {
	args := "--post Includes.Zips=66999"
	if operation != "doCount" {
		args += "|Columns=ProviderAddressKey,AddressLine,City"
		if group == "Business" {
			args += ",Name"
		}
	}
	if operation == "doLookup" {
		args += "|Page=1"
	}
	return args
}

// sampleArgs returns the arguments for one method of an operation.
func sampleArgs(name string, op *service.Operation, method string) []string {
	text, known := sampleCalls[name+" "+op.Name]
	switch verb, class, _ := strings.Cut(op.Name, "/"); {
	case name == "list":
		text = listCall(verb, class)
	case !known:
		text = sampleCalls[name+" "+class]
		if verb != "Releases" {
			text += "|" + sampleCalls[name+" release of "+class]
		}
	}
	forGET, forPOST, _ := strings.Cut(text, "--post ")
	if method == "POST" {
		forGET = forPOST
	}
	return strings.Split(strings.TrimSpace(forGET), "|")
}

const (
	tableFile  = "../../../docs/call.md"
	tableBegin = "<!-- operations -->\n"
	tableEnd   = "<!-- /operations -->\n"
)

// TestEveryOperationInEveryForm calls each operation in each form against the
// emulator, and compares the forms that work with the table of docs/call.md. With
// SYNCD_UPDATE_DOCS=1 it writes the table.
func TestEveryOperationInEveryForm(t *testing.T) {
	t.Parallel()
	h := withServices(e2e.NewHost(t))
	h.Provider.SetManifest("product", "2026.10", emulator.File{Class: emulator.ClassProduct, Name: "product.zip", Content: emulator.Text("product")})
	var rows []formsRow
	operations, forms := map[string]int{}, map[string]int{}
	for _, c := range call.Services() {
		for _, op := range c.Operations {
			if op.Writes != (c.Name == "contribution") { // what writes is never sent twice
				t.Errorf("%s %s: writes %t", c.Name, op.Name, op.Writes)
			}
			row := map[string][]string{}
			for _, method := range op.Methods {
				for _, format := range op.Formats {
					if answers(h, c.Name, op, method, format, "--format", format) {
						row[method] = append(row[method], format)
					}
				}
			}
			if op.JSONP && answers(h, c.Name, op, "GET", "json", "--jsonp") {
				row["script"] = append(row["script"], "bare")
			}
			if op.JSONP && answers(h, c.Name, op, "GET", "callback", "--jsonp", "callback=cb7") {
				row["script"] = append(row["script"], "callback")
			}
			operations[c.Name]++
			forms[c.Name] += len(op.Methods)
			answers := fmt.Sprintf("%s | %s | %s", strings.Join(row["GET"], ", "), strings.Join(row["POST"], ", "), strings.Join(row["script"], ", "))
			rows = addForms(rows, c.Name, op.Name, answers)
		}
	}
	e2e.Same(h, "operations", map[string]int{"contribution": 7, "list": 18, "property": 3, "autocomplete": 6, "reversegeo": 3, "releases": 20}, operations)
	e2e.Same(h, "forms", map[string]int{"contribution": 11, "list": 18, "property": 6, "autocomplete": 6, "reversegeo": 5, "releases": 20}, forms)
	table := "| service | operations | GET | POST | script (JSONP) |\n|---|---|---|---|---|\n"
	for _, row := range rows {
		table += fmt.Sprintf("| %s | `%s` | %s |\n", row.service, strings.Join(row.operations, "`, `"), row.forms)
	}
	compareTable(h, table)
}

// formsRow are operations of a service that answer in the same forms.
type formsRow struct {
	service, forms string
	operations     []string
}

// addForms adds an operation to the row of its service with the same forms.
func addForms(rows []formsRow, service, operation, forms string) []formsRow {
	for i := range rows {
		if rows[i].service == service && rows[i].forms == forms {
			rows[i].operations = append(rows[i].operations, operation)
			return rows
		}
	}
	return append(rows, formsRow{service, forms, []string{operation}})
}

// answers calls an operation by each of its names. It is true if every answer has
// the requested format.
func answers(h *e2e.Host, name string, op *service.Operation, method, format string, flags ...string) bool {
	h.Helper()
	answered := true
	for _, variant := range op.Variants() {
		args := append([]string{"call", name, variant.Name, "--raw"}, sampleArgs(name, op, method)...)
		if method == "POST" {
			args = append(args, "--post")
		}
		r := h.Syncd(append(args, flags...)...)
		if r.Code != 0 || r.Stderr != "" || !hasFormat(format, r.Stdout) {
			h.Errorf("%v %v: exit %d, %s%.300s", args, flags, r.Code, r.Stderr, r.Stdout)
			answered = false
		}
	}
	return answered
}

// hasFormat checks the format of a body, as far as a list of one item allows.
func hasFormat(format, body string) bool {
	switch format {
	case "json":
		return json.Valid([]byte(body))
	case "xml":
		return strings.HasPrefix(body, "<?xml") && strings.Contains(body, "</")
	case "callback":
		return strings.HasPrefix(body, "cb7(") && strings.HasSuffix(body, ");")
	}
	return body != "" && !strings.ContainsAny(body[:1], `{["`)
}

func compareTable(h *e2e.Host, table string) {
	h.Helper()
	document, err := os.ReadFile(tableFile)
	h.Must(err)
	before, rest, found := strings.Cut(string(document), tableBegin)
	old, after, closed := strings.Cut(rest, tableEnd)
	if !found || !closed {
		h.Fatalf("%s has no table between %q and %q", tableFile, tableBegin, tableEnd)
	}
	if os.Getenv("SYNCD_UPDATE_DOCS") != "" {
		h.Must(os.WriteFile(tableFile, []byte(before+tableBegin+table+tableEnd+after), 0o644))
		return
	}
	e2e.Same(h, "the table of docs/call.md", strings.Split(old, "\n"), strings.Split(table, "\n"))
}
