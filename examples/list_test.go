package examples_test

import (
	"context"
	"fmt"
	"log"
	"net/url"

	"syncd/internal/clients/listing"
	"syncd/internal/clients/service"
	"syncd/internal/clients/transport"
	"syncd/internal/emulator"
)

// Count a list, look at a sample, and read the list.
func Example_list() {
	provider, err := emulator.Start(emulator.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer provider.Close()

	base, err := url.Parse(provider.ListURL())
	if err != nil {
		log.Fatal(err)
	}
	connection, err := service.Connect("list", "Provider", transport.Config{Base: base, CustomerID: "CID-0001"}, nil)
	if err != nil {
		log.Fatal(err)
	}
	client := listing.Client{Client: connection}
	defer client.Close()
	ctx := context.Background()

	// New homeowners in Elmstead in the first half of 2024. Counting is free.
	search := client.Search(listing.NewHomeowners, listing.Request{
		Includes: listing.Filters{
			Cities:   []listing.City{{City: "Elmstead", State: "KS"}},
			SellDate: &listing.Dates{StartDate: "2024-01-01", EndDate: "2024-06-30"},
		},
		Columns: []string{"{Prefix}AddressKey", "AddressLine", "PurchasePrice", "SellDate"},
		OrderBy: []listing.Order{{Column: "SellDate", SortOrder: listing.Descending}},
	})
	count, err := search.Count(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(count, "new homeowners")

	// Rows reads one page after the other. Before Count it returns an error.
	for row, err := range search.Rows(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(row.Text("ProviderAddressKey"), row.Text("AddressLine"), row.Text("PurchasePrice"), row.Text("SellDate"))
	}

	// A circle without one of its ZIP codes.
	sample, err := client.Sample(ctx, listing.MAK, listing.Request{
		Includes: listing.Filters{Radius: &listing.Radius{Point: service.Point{Latitude: 38.10422, Longitude: -97.55187}, Distance: 10}},
		Excludes: listing.Filters{Zips: []listing.Zip{{Zip: "66999"}}},
		Columns:  []string{"AddressLine", "City"},
		OrderBy:  []listing.Order{{Column: "AddressLine"}},
	}, service.Form{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(sample.Sample), "of", sample.Count, "addresses, the first:", sample.Sample[0].Text("AddressLine"))

	// A list without a place is refused before it is sent.
	_, err = client.Count(ctx, listing.Consumer, listing.Request{
		Includes: listing.Filters{AgeRange: &listing.Range{Minimum: new(30), Maximum: new(45)}},
	}, service.Form{})
	fmt.Println(err)

	// Output:
	// 4 new homeowners
	// 4400112233 12 Larkspur Way 315 2024-05-14T00:00:00
	// 4400111170 217 S Harrow Ave 290 2024-04-19T00:00:00
	// 4400111149 214 S Harrow Ave 145 2024-04-18T00:00:00
	// 4400110323 5 Teasel Ct 147 2024-02-04T00:00:00
	// 10 of 90 addresses, the first: 1 Mill Rd
	// Consumer/doCount: Includes needs any one of: Zips, Cities, Radius, ShapeWKTs
}
