package gazetteer

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
)

func sample(t *testing.T, w *World) *Address {
	t.Helper()
	a := w.ByMAK("4400112233")
	if a == nil {
		t.Fatal("no sample address")
	}
	return a
}

func TestSample(t *testing.T) {
	a := sample(t, New())
	for _, row := range []struct{ name, got, want string }{
		{"one line", a.OneLine(), "12 Larkspur Way, Elmstead, KS 66999-1205"},
		{"address key", a.AddressKey, "66999120512"},
		{"point", fmt.Sprintf("%.6f,%.6f", a.Latitude, a.Longitude), "38.104220,-97.551870"},
		{"parcel", a.Parcel.FIPS + " " + a.Parcel.APN + " " + a.Parcel.UnformattedAPN, "20999 14-220-07 1422007"},
		{"owner", a.Parcel.Owner.Full(), "Ada Quill"},
		{"county", a.County, "Quill"},
		{"sale", fmt.Sprint(a.Parcel.Deeds[0].Date, " ", a.Parcel.Deeds[0].Price), "2024-05-14 315000"},
	} {
		if row.got != row.want {
			t.Errorf("%s: %s, want %s", row.name, row.got, row.want)
		}
	}
}

func TestKeysAreUnique(t *testing.T) {
	seen := map[string]*Address{}
	for _, a := range New().Addresses() {
		keys := []string{"mak " + a.MAK, "key " + a.AddressKey, "line " + a.OneLine(),
			fmt.Sprintf("point %.6f %.6f", a.Latitude, a.Longitude)}
		if p := a.Parcel; p != nil {
			keys = append(keys, "apn "+p.FIPS+p.UnformattedAPN, "account "+p.FIPS+p.Account)
		}
		if len(a.MAK) != 10 || len(a.AddressKey) != 11 || len(a.CensusKey) != 15 {
			t.Errorf("%s: keys %s %s %s", a.OneLine(), a.MAK, a.AddressKey, a.CensusKey)
		}
		for _, key := range keys {
			if other := seen[key]; other != nil {
				t.Errorf("%s belongs to %s and %s", key, other.OneLine(), a.OneLine())
			}
			seen[key] = a
		}
	}
}

func TestSizes(t *testing.T) {
	w := New()
	cities, units, firms, boxes, empty := map[string]int{}, 0, 0, 0, 0
	for _, a := range w.Addresses() {
		cities[a.City]++
		if a.BaseMAK != "" {
			units++
		}
		if a.RBDI == "B" {
			firms++
		}
		if a.POBox {
			boxes++
		}
		if a.EmptyLot {
			empty++
		}
	}
	if n := len(w.Addresses()); n < 430 || cities["Elmstead"] <= 220 || len(cities) != 4 {
		t.Errorf("%d addresses: %v", n, cities)
	}
	if units != 32 || firms != len(w.Businesses()) || boxes != 15 || empty != 2 {
		t.Errorf("%d units, %d firms, %d boxes, %d empty lots", units, firms, boxes, empty)
	}
	if len(w.Movers()) < 50 || len(w.Homeowners()) < 300 || len(w.Residents()) < 400 {
		t.Errorf("%d movers, %d homeowners, %d residents", len(w.Movers()), len(w.Homeowners()), len(w.Residents()))
	}
}

func TestWorldIsDeterministic(t *testing.T) {
	if !reflect.DeepEqual(build().Addresses(), build().Addresses()) {
		t.Error("two worlds differ")
	}
}

func TestEveryAddressIsFound(t *testing.T) {
	w := New()
	for _, a := range w.Addresses() {
		finds := map[string]*Address{
			"mak":         w.ByMAK(a.MAK),
			"address key": w.ByAddressKey(a.AddressKey),
			"match zip":   w.Match(a.Line, "", "", a.ZIPPlus4()),
			"match city":  w.Match(" "+a.Line+".", a.City, a.State, ""),
			"free form":   w.MatchFreeForm(a.OneLine()),
			"nearest":     w.Nearest(a.Latitude, a.Longitude, 1)[0].Address,
		}
		if p := a.Parcel; p != nil {
			finds["apn"], finds["plain apn"] = w.ByParcel(p.FIPS, p.APN), w.ByParcel(p.FIPS, p.UnformattedAPN)
			finds["account"] = w.ByAccount(p.FIPS, p.Account)
		}
		for name, found := range finds {
			if found != a {
				t.Errorf("%s: %s does not find it", a.OneLine(), name)
			}
		}
		if !slices.Contains(w.Search(a.OneLine()), a) {
			t.Errorf("%s: search does not find it", a.OneLine())
		}
	}
}

func TestMatch(t *testing.T) {
	w := New()
	for _, row := range []struct {
		name, line, city, state, zip string
		want                         string
	}{
		{"zip", "12 LARKSPUR WAY", "", "", "66999", "12 Larkspur Way"},
		{"state in full", "12 Larkspur Way", "elmstead", "Kansas", "", "12 Larkspur Way"},
		{"number sign", "40 teasel court # 3", "", "", "66999", "40 Teasel Ct Apt 3"},
		{"apt and number sign", "40 Teasel Ct, Apt #3", "", "", "66999-1220", "40 Teasel Ct Apt 3"},
		{"direction in full", "202 North Harrow Avenue", "", "", "66999", "202 N Harrow Ave"},
		{"another zip", "12 Larkspur Way", "", "", "66998", ""},
		{"no number", "Larkspur Way", "", "", "66999", ""},
		{"two cities have it", "104 Main St", "", "", "", ""},
		{"nothing", "", "", "", "", ""},
	} {
		got := ""
		if a := w.Match(row.line, row.city, row.state, row.zip); a != nil {
			got = a.Line
		}
		if got != row.want {
			t.Errorf("%s: %q, want %q", row.name, got, row.want)
		}
	}
}

func TestMatchFreeForm(t *testing.T) {
	w := New()
	for _, row := range []struct{ name, text, want string }{
		{"whole", "12 larkspur way; elmstead ks 66999", "12 Larkspur Way"},
		{"with the country", "12 Larkspur Way, Elmstead, Kansas, USA", "12 Larkspur Way"},
		{"line only", "12 Larkspur Way", "12 Larkspur Way"},
		{"unit", "40 Teasel Court Apartment 3 66999", "40 Teasel Ct Apt 3"},
		{"box", "P.O. Box 3, Larkford KS", "PO Box 3"},
		{"no such unit", "40 Teasel Ct Apt 99 66999", ""},
		{"two cities have it", "104 Main St", ""},
		{"another city", "12 Larkspur Way Quillan MO", ""},
		{"nothing", " ", ""},
	} {
		got := ""
		if a := w.MatchFreeForm(row.text); a != nil {
			got = a.Line
		}
		if got != row.want {
			t.Errorf("%s: %q, want %q", row.name, got, row.want)
		}
	}
}

func TestSearch(t *testing.T) {
	w := New()
	if found := w.Search("12 larksp elmstead"); len(found) == 0 || found[0] != sample(t, w) {
		t.Errorf("the sample is not found first: %v", found)
	}
	if n := len(w.Search(" , ")); n != 0 {
		t.Errorf("nothing finds %d", n)
	}
	if n := len(w.Search("elmst")); n <= 220 {
		t.Errorf("the city finds %d", n)
	}
}

func TestNearest(t *testing.T) {
	w := New()
	found := w.Nearest(38.1042, -97.5518, 0.05)
	if len(found) < 3 || found[0].Address != sample(t, w) || found[0].Miles > 0.005 {
		t.Fatalf("%d found", len(found))
	}
	if !slices.IsSortedFunc(found, func(a, b Found) int {
		if a.Miles < b.Miles {
			return -1
		}
		return 1
	}) {
		t.Error("not in order")
	}
}

func TestPeopleHaveKnownAddresses(t *testing.T) {
	w := New()
	known := func(a *Address) bool { return a != nil && w.ByMAK(a.MAK) == a && a.Parcel != nil }
	for _, m := range w.Movers() {
		if !known(m.From) || !known(m.To) || m.From == m.To || len(m.Date) != len("2006-01-02") {
			t.Errorf("mover %+v", m)
		}
	}
	for _, h := range w.Homeowners() {
		if !known(h.Address) || h.Address.Parcel.Owner != h.Person || h.Price == 0 {
			t.Errorf("homeowner %+v", h)
		}
	}
	for _, b := range w.Businesses() {
		if !known(b.Address) || b.Address.RBDI != "B" {
			t.Errorf("business %+v", b)
		}
	}
}

func TestParcels(t *testing.T) {
	w := New()
	for _, a := range w.Addresses() {
		p := a.Parcel
		if p == nil {
			continue
		}
		if n := len(p.Deeds); n < 1 || n > 4 || p.Deeds[0].Grantee != p.Owner {
			t.Errorf("%s: %d deeds", a.OneLine(), n)
		}
		for i := 1; i < len(p.Deeds); i++ {
			if p.Deeds[i].Date >= p.Deeds[i-1].Date || p.Deeds[i].Grantee != p.Deeds[i-1].Grantor {
				t.Errorf("%s: deed %d does not come before the one above it", a.OneLine(), i)
			}
		}
		if n := len(w.HomesOwnedFrom(p.OwnerAddress.MAK)); n < 1 || n > 3 {
			t.Errorf("%s: its owner has %d homes", a.OneLine(), n)
		}
	}
	if n := len(w.HomesOwnedFrom(sample(t, w).MAK)); n != 3 {
		t.Errorf("the sample's owner has %d homes", n)
	}
}
