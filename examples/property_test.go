package examples_test

import (
	"context"
	"fmt"
	"log"
	"net/url"

	"syncd/internal/clients/property"
	"syncd/internal/clients/service"
	"syncd/internal/clients/transport"
	"syncd/internal/emulator"
)

// Look up properties, their deeds, and the homes of an owner.
func Example_property() {
	provider, err := emulator.Start(emulator.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer provider.Close()

	base, err := url.Parse(provider.PropertyURL())
	if err != nil {
		log.Fatal(err)
	}
	connection, err := service.Connect("property", "Provider", transport.Config{Base: base, CustomerID: "CID-0001"}, nil)
	if err != nil {
		log.Fatal(err)
	}
	client := property.Client{Client: connection}
	defer client.Close()
	ctx := context.Background()

	// Several properties in one request, named in different ways. The zero Form
	// chooses POST, because GET carries only one.
	found, err := client.LookupProperty(ctx, property.LookupProperty{
		Columns: service.List{"GrpParcel", "GrpPropertyAddress", "GrpPrimaryOwner"},
		Records: []property.Record{
			{RecordID: "a", AddressLine1: "12 Larkspur Way", PostalCode: "66999"},
			{RecordID: "b", MAK: "4400112299"},
			{RecordID: "c", FreeForm: "1 Nowhere Road, Elmstead KS"},
		},
	}, service.Form{})
	if err != nil {
		log.Fatal(err)
	}
	for _, p := range found.Records {
		if p.Parcel.FormattedAPN == "" {
			fmt.Println(p.RecordID, "is not known")
			continue
		}
		fmt.Println(p.RecordID, p.Parcel.FIPSCode, p.Parcel.FormattedAPN, p.PropertyAddress.Address, "owned by", p.PrimaryOwner.Name1Full)
	}

	// A page has one deed by default.
	deeds, err := client.LookupDeeds(ctx, property.LookupDeeds{
		FIPS: "20999", APN: "14-220-07", Options: service.List{"Page:1", "RecordsPerPage:2"},
	}, service.Form{})
	if err != nil {
		log.Fatal(err)
	}
	for _, d := range deeds.Records {
		fmt.Println(d.DocInfo.RecordingDate, d.PrimaryGrantor.Name1Full, "to", d.PrimaryGrantee.Name1Full, d.TxAmtInfo.TransferAmount)
	}

	// XML and JSON give the same response.
	homes, err := client.LookupHomesByOwner(ctx, property.LookupHomesByOwner{OwnerMAK: "4400112233"}, service.Form{Format: service.FormatXML})
	if err != nil {
		log.Fatal(err)
	}
	for _, h := range homes.Records {
		fmt.Println(h.PropertyAddress, h.PropertyCity, h.MAK)
	}

	// A request without a property is refused before it is sent.
	_, err = client.LookupHomesByOwner(ctx, property.LookupHomesByOwner{}, service.Form{})
	fmt.Println(err)

	// Output:
	// a 20999 14-220-07 12 Larkspur Way owned by Ada Quill
	// b 20999 14-290-03 1004 Wheelwright Rd owned by Abel Z Sorrel
	// c is not known
	// 20240515 Edith J Barrow to Ada Quill 315000
	// 19981225 Dale Coldwell to Edith J Barrow 138500
	// 9 Larkspur Way Elmstead 4400110064
	// 12 Larkspur Way Elmstead 4400112233
	// 20 Larkspur Way Elmstead 4400110134
	// LookupHomesByOwner: needs any one of: mak, ff
}
