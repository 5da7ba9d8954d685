package examples_test

import (
	"context"
	"fmt"
	"log"
	"net/url"

	"syncd/internal/clients/autocomplete"
	"syncd/internal/clients/service"
	"syncd/internal/clients/transport"
	"syncd/internal/emulator"
)

// Complete an address, in one step or in several.
func Example_autocomplete() {
	provider, err := emulator.Start(emulator.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer provider.Close()

	base, err := url.Parse(provider.AutocompleteURL())
	if err != nil {
		log.Fatal(err)
	}
	scripts, err := url.Parse(provider.AutocompleteJSONPURL())
	if err != nil {
		log.Fatal(err)
	}
	connection, err := service.Connect("autocomplete", "Provider", transport.Config{Base: base, CustomerID: "CID-0001"}, scripts)
	if err != nil {
		log.Fatal(err)
	}
	client := autocomplete.Client{Client: connection}
	defer client.Close()
	ctx := context.Background()

	// The whole address as one text; results nearest to a point come first.
	found, err := client.FreeForm(ctx, autocomplete.FreeFormRequest{
		FreeForm: "larksp elmstead", Common: autocomplete.Common{MaxRecords: 2},
		FilterTerm: "latlong", FilterList: "38.1041,-97.5518", SortType: "distance",
	}, service.Form{})
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range found.Results {
		fmt.Println(r.Address.MAK, r.Address.Address)
	}

	// Or step by step: the postal code gives the place ...
	places, err := client.PostalCode(ctx, autocomplete.PostalCodeRequest{PostalCode: "66998"}, service.Form{})
	if err != nil {
		log.Fatal(err)
	}
	place := places.Results[0].Address
	fmt.Println(place.Locality, place.AdministrativeArea)

	// ... and the place gives the address. XML and JSON give the same response.
	found, err = client.Address(ctx, autocomplete.AddressRequest{
		Address1: "10 Stat", Locality: place.Locality, AdministrativeArea: place.AdministrativeArea,
	}, service.Form{Format: service.FormatXML})
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range found.Results {
		fmt.Println(r.Address.MAK, r.Address.Address)
	}

	// JSONP calls a function of a web page. No match is not an error.
	countries, err := client.Country(ctx, "island", service.Form{JSONP: true, Callback: "show"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(countries.Results[0].Country, "is", countries.Results[0].English)
	countries, err = client.Country(ctx, "Atlantis", service.Form{})
	fmt.Println(countries.ResultCode, err)

	// Output:
	// 4400112233 12 Larkspur Way, Elmstead, KS 66999-1205
	// 4400110092 14 Larkspur Way, Elmstead, KS 66999-1205
	// Larkford KS
	// 4400113355 10 Station St, Larkford, KS 66998-2135
	// Islandia is Iceland
	// XS03 (no match) <nil>
}
