package listing_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"syncd/internal/clients/listing"
	"syncd/internal/clients/service"
	"syncd/internal/clients/service/servicetest"
	"syncd/internal/clients/wire"
)

func TestEveryGroupHasThreeOperations(t *testing.T) {
	if n := len(listing.Operations()); n != 18 {
		t.Errorf("%d operations", n)
	}
	for _, name := range []string{"MAK/doCount", "Business/getCount", "ConsumerTwo/doLookup"} {
		if described(t, name) == nil {
			t.Errorf("no %s", name)
		}
	}
}

func TestColumnsHaveThePrefix(t *testing.T) {
	tests := map[listing.Group]struct {
		count int
		some  []string
	}{
		listing.MAK:           {46, []string{"AcmeAddressKey", "BaseAcmeAddressKey", "FalseTable"}},
		listing.NewMovers:     {38, []string{"PreviousBaseAcmeAddressKey", "MailResponsiveInd"}},
		listing.NewHomeowners: {27, []string{"PurchasePrice", "LoanType"}},
		listing.Consumer:      {233, []string{"WalkSequencenumber", "eMailAppendAvailableInd", "Age18to24FeMaleInd", "OtherPetOnwerInd"}},
		listing.ConsumerTwo:   {188, []string{"FamiliesPercentHouseholdIwthOwnChildren", "BirthMonth5"}},
		listing.Business:      {209, []string{"MailingAcmeAddresskey", "Censuskey", "CtockTickerSymbol", "BusinessID"}},
		"Pets":                {0, nil},
	}
	for group, test := range tests {
		columns := listing.Columns(group, "Acme")
		if len(columns) != test.count {
			t.Errorf("%s has %d columns, want %d", group, len(columns), test.count)
		}
		for _, name := range test.some {
			if !slices.Contains(columns, name) {
				t.Errorf("%s has no column %s", group, name)
			}
		}
		for i, name := range columns {
			if slices.Contains(columns[:i], name) || strings.ContainsAny(name, "{} ") {
				t.Errorf("%s has column %q twice or misspelt", group, name)
			}
		}
	}
}

// filled sets every field below v to a value that is not zero.
func filled(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			filled(v.Field(i))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		filled(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		filled(v.Index(0))
	case reflect.String:
		v.SetString("1")
	case reflect.Int:
		v.SetInt(1)
	case reflect.Float64:
		v.SetFloat(1)
	case reflect.Bool:
		v.SetBool(true)
	}
}

// Every filter of every group has a field in Filters, of the type that is sent.
func TestEveryFilterHasAFieldOfItsType(t *testing.T) {
	var all listing.Filters
	filled(reflect.ValueOf(&all).Elem())
	members, err := service.Members(all)
	if err != nil {
		t.Fatal(err)
	}
	unused := map[string]bool{}
	for _, m := range members {
		unused[m.Name] = true
	}
	for _, group := range listing.Groups() {
		op := described(t, string(group)+"/doCount")
		include, exclude := wire.Object{}, wire.Object{}
		for _, in := range op.Inputs[1].Inputs {
			if members.Find(in.Name) < 0 {
				t.Errorf("%s: Filters has no %s", group, in.Name)
			}
			delete(unused, in.Name)
			include.Set(in.Name, members.Get(in.Name))
		}
		for _, in := range op.Inputs[2].Inputs {
			exclude.Set(in.Name, members.Get(in.Name))
		}
		if len(include) != len(exclude)+2 || exclude.Find("Radius") >= 0 || exclude.Find("ShapeWKTs") >= 0 {
			t.Errorf("%s includes %d filters and excludes %d", group, len(include), len(exclude))
		}
		if _, err := op.Check(service.Form{}, wire.Object{{Name: "Includes", Value: include}, {Name: "Excludes", Value: exclude}}, "Acme"); err != nil {
			t.Errorf("%s: %v", group, err)
		}
	}
	if len(unused) > 0 {
		t.Errorf("no group has %v", unused)
	}
}

// sent returns the body that arguments produce.
func sent(t *testing.T, name string, args ...string) (string, error) {
	t.Helper()
	op := described(t, name)
	members, _, err := op.Arguments("POST", "Acme", nil, args)
	if err != nil {
		return "", err
	}
	call, err := op.Check(service.Form{}, members, "Acme")
	if err != nil {
		return "", err
	}
	server := servicetest.Serve(t, 0, success)
	if _, err := client(server).Send(t.Context(), call); err != nil {
		return "", err
	}
	_, body, _ := strings.Cut(server.Requests()[0], "\n\n")
	body = strings.TrimPrefix(strings.TrimSpace(body), `{"CustomerID":"`+servicetest.CustomerID+`",`)
	return "{" + body, nil
}

func TestArgumentsBecomeBodies(t *testing.T) {
	tests := map[string]struct {
		op   string
		args []string
		want string
	}{
		"codes": {
			"MAK/doCount", []string{"Includes.Zips=66999,66998"},
			`{"Includes":{"Zips":[{"Zip":"66999"},{"Zip":"66998"}]}}`,
		},
		"codes as members": {
			"MAK/doCount", []string{"Includes.Zips.Zip=66999", "includes.zips.plus4=1204", "Includes.Zips.Zip=66998"},
			`{"Includes":{"Zips":[{"Zip":"66999","Plus4":"1204"},{"Zip":"66998"}]}}`,
		},
		"JSON": {
			"MAK/doCount", []string{`Includes={"Zips":[{"Zip":"66999"}],"RBDI":"R"}`},
			`{"Includes":{"Zips":[{"Zip":"66999"}],"RBDI":["R"]}}`,
		},
		"JSON and more": {
			"NewMovers/doCount", []string{`Includes={"CensusKey":["1"]}`, "Includes.AcmeAddressKey=2", "Includes.Base{Prefix}AddressKey=3,4"},
			`{"Includes":{"CensusKey":["1"],"AcmeAddressKey":["2"],"BaseAcmeAddressKey":["3","4"]}}`,
		},
		"cities": {
			"MAK/doCount", []string{`Includes.Cities=[{"City":"Elmstead","State":"KS"}]`},
			`{"Includes":{"Cities":[{"City":"Elmstead","State":"KS"}]}}`,
		},
		"page": {
			"NewHomeowners/doLookup", []string{"Includes.Zips=66999", "Excludes.State=MO", "Columns=AddressLine,City", "Page=2", "OrderBy=SellDate"},
			`{"Includes":{"Zips":[{"Zip":"66999"}]},"Excludes":{"State":["MO"]},"Columns":["AddressLine","City"],"OrderBy":[{"column":"SellDate","sortorder":"ASC"}],"Pagination":{"Page":2}}`,
		},
		"first page": {
			"MAK/doLookup", []string{"Includes.Zips=66999", "Columns={Prefix}AddressKey,NotYetKnown"},
			`{"Includes":{"Zips":[{"Zip":"66999"}]},"Columns":["AcmeAddressKey","NotYetKnown"],"Pagination":{"Page":1}}`,
		},
		"order": {
			"MAK/getCount", []string{"Includes.Zips=66999", "Columns=City", "Columns=State", "OrderBy.column=City", "OrderBy.sortorder=desc", "OrderBy.column=State"},
			`{"Includes":{"Zips":[{"Zip":"66999"}]},"Columns":["City","State"],"OrderBy":[{"column":"City","sortorder":"DESC"},{"column":"State","sortorder":"ASC"}]}`,
		},
		"range": {
			"Consumer/doCount", []string{"Includes.Zips=66999", "Includes.AgeRange.minimum=30", "Includes.AgeRange.maximum=040"},
			`{"Includes":{"Zips":[{"Zip":"66999"}],"AgeRange":{"minimum":30,"maximum":40}}}`,
		},
		"area": {
			"MAK/doCount", []string{"Includes.ShapeWKTs=POLYGON((1 2,3 4,5 6,1 2)), POLYGON((7 8,9 1,2 3,7 8),(7 8,8 8,8 7,7 8))"},
			`{"Includes":{"ShapeWKTs":["POLYGON((1 2,3 4,5 6,1 2))","POLYGON((7 8,9 1,2 3,7 8),(7 8,8 8,8 7,7 8))"]}}`,
		},
		"circle": {
			"MAK/doCount", []string{"Includes.Radius.Latitude=+38.5", "Includes.Radius.Longitude=-.5", "Includes.Radius.Distance=05"},
			`{"Includes":{"Radius":{"Latitude":38.5,"Longitude":-0.5,"Distance":5}}}`,
		},
		"booleans": {
			"Business/doCount", []string{"Includes.Zips=66999", "Includes.WorkAtHome=TRUE"},
			`{"Includes":{"Zips":[{"Zip":"66999"}],"WorkAtHome":true}}`,
		},
		"lists of booleans and numbers": {
			"MAK/doCount", []string{"Includes.Zips=66999", "Includes.Throwback=true,false", "Excludes.BaseRecord=false"},
			`{"Includes":{"Zips":[{"Zip":"66999"}],"Throwback":[true,false]},"Excludes":{"BaseRecord":[false]}}`,
		},
		"columns of a count": {
			"NewHomeowners/doCount", []string{"Includes.Zips=66999", "Columns=City"},
			`{"Includes":{"Zips":[{"Zip":"66999"}]},"Columns":["City"]}`,
		},
		"nothing excluded": {
			"MAK/doCount", []string{"Includes.Zips=66999", `Excludes={"RBDI":[]}`},
			`{"Includes":{"Zips":[{"Zip":"66999"}]}}`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := sent(t, test.op, test.args...)
			if err != nil || got != test.want {
				t.Errorf("got  %s, %v\nwant %s", got, err, test.want)
			}
		})
	}
}

func TestInvalidArgumentsAreRefused(t *testing.T) {
	tests := map[string]struct {
		op   string
		args []string
		want string
	}{
		"ambiguous name":     {"MAK/doCount", []string{"Zips=66999"}, "Zips is ambiguous: write Includes.Zips or Excludes.Zips"},
		"no filter":          {"MAK/doCount", nil, "Includes needs any one of: Zips, Cities, Radius, ShapeWKTs"},
		"columns of a count": {"MAK/doCount", []string{"Includes.Zips=66999", "Columns=City"}, "unknown input Columns"},
		"no columns":         {"MAK/getCount", []string{"Includes.Zips=66999"}, "missing Columns ("},
		"circle excluded":    {"MAK/doCount", []string{"Excludes.Radius={}"}, "unknown input Excludes.Radius"},
		"page zero":          {"MAK/doLookup", []string{"Includes.Zips=66999", "Columns=City", "Page=0"}, "Pagination.Page must be"},
		"truth":              {"MAK/doCount", []string{"Includes.Zips=66999", "Includes.DropInd=Y"}, "Includes.DropInd must be true or false"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got, err := sent(t, test.op, test.args...); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %s, %v, want %q", got, err, test.want)
			}
		})
	}
}
