package examples_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/url"

	"syncd/internal/clients/contribution"
	"syncd/internal/clients/service"
	"syncd/internal/clients/transport"
	"syncd/internal/emulator"
)

// Correct the coordinates of an address, and remove one.
func Example_contribution() {
	provider, err := emulator.Start(emulator.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer provider.Close()

	base, err := url.Parse(provider.ContributionURL())
	if err != nil {
		log.Fatal(err)
	}
	connection, err := service.Connect("contribution", "Provider", transport.Config{Base: base, CustomerID: "CID-0001"}, nil)
	if err != nil {
		log.Fatal(err)
	}
	client := contribution.Client{Client: connection}
	defer client.Close()
	ctx := context.Background()

	// A submission is never retried.
	moved, err := client.ChangeGeoPoint(ctx, contribution.ChangeGeoPoint{
		Submission: contribution.Submission{TransmissionReference: "job-17", RespondToEmail: "gis@example.test"},
		Country:    "US", AddressKey: "4400112233",
		Point:  &service.Point{Latitude: 38.10422, Longitude: -97.55187},
		Reason: "Pin was on the rail yard",
	}, service.Form{Method: "POST"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(moved.Results, moved.TransmissionReference)

	// A removal without a key needs the whole address, with AddressLine2.
	removal := contribution.RemoveMIK{
		Action: contribution.Suppression, AddressLine1: "12 Larkspur Way", City: "Elmstead",
		FullName: "Ada Quill", PostalCode: "66999", State: "KS",
	}
	_, err = client.RemoveMIK(ctx, removal, service.Form{})
	var missing *service.InputError
	fmt.Println("nothing was sent:", errors.As(err, &missing))
	removal.AddressLine2 = new("")
	removed, err := client.RemoveMIK(ctx, removal, service.Form{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(removed.Results)

	// Output:
	// MS01 (submitted and queued for review) job-17
	// nothing was sent: true
	// MS01 (submitted and queued for review)
}
