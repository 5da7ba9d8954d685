package examples_test

import (
	"context"
	"fmt"
	"log"
	"net/url"

	"syncd/internal/clients/reversegeo"
	"syncd/internal/clients/service"
	"syncd/internal/clients/transport"
	"syncd/internal/emulator"
)

// Find the addresses near a point, and the depot nearest to an address.
func Example_reversegeo() {
	provider, err := emulator.Start(emulator.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer provider.Close()

	base, err := url.Parse(provider.ReverseGeoURL())
	if err != nil {
		log.Fatal(err)
	}
	connection, err := service.Connect("reversegeo", "Provider", transport.Config{Base: base, CustomerID: "CID-0001"}, nil)
	if err != nil {
		log.Fatal(err)
	}
	client := reversegeo.Client{Client: connection}
	defer client.Close()
	ctx := context.Background()

	here := &service.Point{Latitude: 38.1042, Longitude: -97.5518}
	near, err := client.DoLookup(ctx, reversegeo.DoLookup{
		Point: here, Bounds: reversegeo.Bounds{MaxDistance: 2, MaxRecords: 2},
	}, service.Form{})
	if err != nil {
		log.Fatal(err)
	}
	for _, a := range near.Records {
		fmt.Printf("%s, %s %s: %.3f miles\n", a.AddressLine1, a.City, a.PostalCode, float64(a.Distance))
	}

	codes, err := client.DoLookupPostalCodes(ctx, reversegeo.DoLookupPostalCodes{
		Point: here, Options: service.List{"Level:CarrierRoute"}, Bounds: reversegeo.Bounds{MaxRecords: 2},
	}, service.Form{Format: service.FormatXML})
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range codes.Records {
		fmt.Println(c.PostalCode, c.CarrierRoute)
	}

	// The origin is a point or a key, not both.
	targets, err := client.DoLookupFromList(ctx, reversegeo.DoLookupFromList{
		AddressKey: "4400112233",
		Records: []reversegeo.Target{
			{AddressKey: "4400113355", RecordID: "depot-b"},
			{AddressKey: "4400112299", RecordID: "depot-a"},
		},
	}, service.Form{})
	if err != nil {
		log.Fatal(err)
	}
	for _, a := range targets.Records {
		fmt.Printf("%s: %.1f miles\n", a.RecordID, float64(a.Distance))
	}

	// A distance above the limit is refused before it is sent.
	_, err = client.DoLookup(ctx, reversegeo.DoLookup{Point: here, Bounds: reversegeo.Bounds{MaxDistance: 50}}, service.Form{})
	fmt.Println(err)

	// Output:
	// 12 Larkspur Way, Elmstead 66999: 0.004 miles
	// 14 Larkspur Way, Elmstead 66999: 0.010 miles
	// 66999 C001
	// 66999 C002
	// depot-a: 0.2 miles
	// depot-b: 5.3 miles
	// doLookup: dist must be a number from 0 to 10
}
