package property_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"syncd/internal/clients/property"
	"syncd/internal/clients/service"
	"syncd/internal/clients/service/servicetest"
	"syncd/internal/clients/wire"
)

func read[R any](t *testing.T, op, fixture string) *R {
	t.Helper()
	return servicetest.Read[R](t, servicetest.Operation(t, property.Operations(), op), fixture)
}

func TestReadProperty(t *testing.T) {
	for _, fixture := range []string{"property.json", "property.xml", "property_prefixed.xml"} {
		t.Run(fixture, func(t *testing.T) {
			r := read[property.Properties](t, "LookupProperty", fixture)
			servicetest.Check(t, []any{r.Version, r.TransmissionReference, r.TransmissionResults, r.TotalRecords, len(r.Records)}, "[9.4.2.9001 p-2  2 2]")
			a, b := r.Records[0], r.Records[1]
			servicetest.Check(t, []any{a.RecordID, a.Results.Has("YS07"), a.Parcel.FIPSCode, a.Parcel.FormattedAPN}, "[a true 20999 14-220-07]")
			servicetest.Check(t, []any{a.PrimaryOwner.Name1Full, a.PrimaryOwner.CompanyFlag, a.PrimaryOwner.IdentityKey1, a.PrimaryOwner.IdentityKey2}, "[Ada Quill  77 ]")
			servicetest.Check(t, []any{b.RecordID, b.Results.Has("AE01"), b.Parcel.County}, "[b true ]")
			servicetest.Check(t, unknown(r), "[]")
		})
	}
}

func TestReadDeeds(t *testing.T) {
	for _, fixture := range []string{"deeds.json", "deeds.xml"} {
		t.Run(fixture, func(t *testing.T) {
			r := read[property.Deeds](t, "LookupDeeds", fixture)
			servicetest.Check(t, []any{r.TransmissionReference, r.Results.Has("YS02", "YC01"), r.TotalRecords}, "[p-3 true 12]")
			d := r.Records[0]
			servicetest.Check(t, []any{d.DocInfo.Book, d.DocInfo.RecordingDate, d.PrimaryGrantor.Name1Full, d.PrimaryGrantor.Name2LegalType}, "[8 20190304 Ada Quill T]")
			servicetest.Check(t, []any{d.SecondaryGrantee.Name3Full, d.Mortgage1.Amount, d.Mortgage2.Amount}, "[Cy Marsh 150000 ]")
			servicetest.Check(t, d.DocInfo.Unknown.Text("Notary"), "P. Reed")
		})
	}
	// PropertyAddress is an object here, and a text in LookupHomesByOwner.
	r := read[property.Deeds](t, "LookupDeeds", "deeds.json")
	servicetest.Check(t, unknown(r), "[Notary=P. Reed PropertyAddress=12 Larkspur Way]")
}

func TestReadHomes(t *testing.T) {
	for _, fixture := range []string{"homes.json", "homes.xml"} {
		t.Run(fixture, func(t *testing.T) {
			r := read[property.Homes](t, "LookupHomesByOwner", fixture)
			h := r.Records[0]
			servicetest.Check(t, []any{r.Results, h.APN, h.FIPS, h.MAK, h.PropertyAddress, h.PropertyZip}, "[YS02 (address matched) 14-220-07 20999 4400112233 12 Larkspur Way 66999]")
		})
	}
	r := read[property.Homes](t, "LookupHomesByOwner", "homes.json")
	servicetest.Check(t, []any{r.TotalRecords, r.Records[1].MAK, r.Records[1].PropertyZip}, "[2 4400112299 ]")
	servicetest.Check(t, unknown(r), `[PropertyAddress={"Address":"16 Larkspur Way"} Since=2004]`)
}

// The answer has names in another case, both spellings of misspelt names, numbers
// for texts, a single record without a list, and unknown members.
func TestReadOddAnswer(t *testing.T) {
	r := read[property.Properties](t, "LookupProperty", "property_odd.json")
	servicetest.Check(t, []any{r.Version, r.TransmissionReference, len(r.TransmissionResults), r.TotalRecords, len(r.Records)}, "[9.4  1 1 1]")
	p := r.Records[0]
	servicetest.Check(t, []any{p.RecordID, p.Results.Has("YS02"), p.Parcel.County, p.Parcel.MapPage, p.PrimaryOwner.IdentityKey1}, "[7 true Quill 12 77]")
	servicetest.Check(t, []any{p.IntRoomInfo.ExerciseFlag, p.IntAmenities.AccessibilityElevatorFlag, p.IntAmenities.AccessibilityHandicapFlag}, "[Y Y N]")
	servicetest.Check(t, p.Pool.Unknown, "[{Pool [indoor]}]")
	servicetest.Check(t, unknown(r), `[Billing={"Units":1} Legal=see the deed OtherIdentityKey1=78 Pool=["indoor"] Ratings=["A"] Soil=loam]`)
	for _, text := range []string{"Ratings", "Soil", "Billing"} {
		if !strings.Contains(string(r.Raw), text) {
			t.Errorf("%s is not in Raw", text)
		}
	}
}

// Each column has a field in the right sub-object.
func TestEveryColumnHasAField(t *testing.T) {
	p := read[property.Properties](t, "LookupProperty", "property_all.json")
	d := read[property.Deeds](t, "LookupDeeds", "deeds_all.json")
	servicetest.Check(t, unknown(p), "[]")
	servicetest.Check(t, unknown(d), "[]")
	servicetest.Check(t, []any{p.TotalRecords, d.TotalRecords}, "[1 12]")
	checkColumns(t, "", reflect.ValueOf(p.Records[0]))
	checkColumns(t, "", reflect.ValueOf(d.Records[0]))
}

// misspelt are fields whose names the service misspells.
var misspelt = map[string]string{
	"IdentityKey1": "AcmeIdentityKey1", "IdentityKey2": "AcmeIdentityKey2", "ExerciseFlag": "ExcerciseFlag",
	"AccessibilityElevatorFlag": "AccessabilityElevatorFlag", "AccessibilityHandicapFlag": "AccessabilityHandicapFlag",
}

// checkColumns compares fields with the fixtures, in which each value is the path
// of its member.
func checkColumns(t *testing.T, within string, v reflect.Value) {
	t.Helper()
	for i := range v.NumField() {
		field := v.Type().Field(i)
		switch {
		case field.Anonymous:
			checkColumns(t, within, v.Field(i))
		case field.Type.Kind() == reflect.Struct && v.FieldByName("DocInfo").IsValid() && field.Name == "PropertyAddress":
			// Deeds have an empty PropertyAddress.
		case field.Type.Kind() == reflect.Struct:
			checkColumns(t, field.Name, v.Field(i))
		case field.Type.Kind() == reflect.String && within != "":
			name := field.Name
			if spelt, ok := misspelt[name]; ok {
				name = spelt
			}
			if want := within + "." + name; v.Field(i).String() != want && want != "PrimaryGrantee.Name2LegalType" {
				t.Errorf("%s: got %q", want, v.Field(i))
			}
		}
	}
}

// unknown lists the names of the members in the fields Unknown of all levels.
func unknown(v any) []string { return slices.Sorted(slices.Values(kept(reflect.ValueOf(v)))) }

func kept(v reflect.Value) []string {
	var found []string
	switch v.Kind() {
	case reflect.Pointer:
		return kept(v.Elem())
	case reflect.Slice:
		for i := range v.Len() {
			found = append(found, kept(v.Index(i))...)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[service.Answer]() {
			return nil
		}
		for i := range v.NumField() {
			if o, ok := v.Field(i).Interface().(wire.Object); ok {
				for _, m := range o {
					text, isText := wire.TextOf(m.Value)
					if !isText {
						text = string(wire.JSON(m.Value))
					}
					found = append(found, m.Name+"="+text)
				}
				continue
			}
			found = append(found, kept(v.Field(i))...)
		}
	}
	return found
}
