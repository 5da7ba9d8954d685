package autocomplete_test

import (
	"slices"
	"strings"
	"testing"

	"syncd/internal/clients/service"
	"syncd/internal/clients/service/servicetest"
)

// sent returns the query that arguments produce.
func sent(t *testing.T, name string, args ...string) (string, error) {
	t.Helper()
	op := described(t, name)
	members, extra, err := op.Arguments("GET", "Acme", nil, args)
	if err != nil {
		return "", err
	}
	call, err := op.Check(service.Form{Extra: extra}, members, "Acme")
	if err != nil {
		return "", err
	}
	server := servicetest.Serve(t, 0, found)
	if _, err := client(server).Send(t.Context(), call); err != nil {
		return "", err
	}
	var pairs []string
	for line := range strings.Lines(server.Requests()[0]) {
		if pair, ok := strings.CutPrefix(line, "  "); ok {
			pairs = append(pairs, strings.TrimSpace(pair))
		}
	}
	pairs = slices.DeleteFunc(pairs, func(p string) bool { return strings.HasPrefix(p, "id=") || p == "format=json" })
	return strings.Join(pairs, "&"), nil
}

func TestArgumentsBecomeQueries(t *testing.T) {
	tests := map[string]struct {
		op   string
		args []string
		want string
		err  string
	}{
		"country's default":     {"GlobalExpressPostalCode", []string{"postalcode=66999"}, "country=US&postalcode=66999", ""},
		"another country":       {"GlobalExpressPostalCode", []string{"postalcode=1010", "COUNTRY=Austria", "maxrecords=007"}, "country=Austria&maxrecords=7&postalcode=1010", ""},
		"term has no default":   {"GlobalExpressCountry", nil, "", "missing country ("},
		"known filter":          {"GlobalExpressFreeForm", []string{"ff=12 larksp", "filterterm=zip", "filterlist=66999", "sorttype=distance"}, "country=US&ff=12+larksp&filterlist=66999&filterterm=zip&sortType=distance", ""},
		"undescribed filter":    {"GlobalExpressFreeForm", []string{"ff=12 larksp", "listwhite=1", "listwhite=2"}, "country=US&ff=12+larksp&listwhite=1&listwhite=2", ""},
		"filter of another":     {"GlobalExpressAddress", []string{"address1=12 Larkspur", "filterterm=zip"}, "", "unknown input filterterm"},
		"options and details":   {"GlobalExpressAddress", []string{"address1=12 Larkspur", "opt=PoBoxes:FALSE", "cols=results,other", "suitecompression=false"}, "address1=12+Larkspur&cols=results%2Cother&country=US&opt=poboxes%3Afalse&suitecompression=False", ""},
		"POST name of an input": {"GlobalExpressFreeForm", []string{"FreeForm=12 larksp"}, "country=US&ff=12+larksp", ""},
		"short street":          {"GlobalExpressThoroughfare", []string{"thoroughfare=La"}, "", "thoroughfare needs at least 3 characters"},
		"street alone":          {"GlobalExpressThoroughfare", []string{"thoroughfare=Lär"}, "country=US&thoroughfare=L%C3%A4r", ""},
		"cities of a state":     {"GlobalExpressLocalityAdministrativeArea", []string{"administrativearea=KS"}, "administrativearea=KS&country=US", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := sent(t, test.op, test.args...)
			if got != test.want || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("got  %s, %v\nwant %s, %s", got, err, test.want, test.err)
			}
		})
	}
}
