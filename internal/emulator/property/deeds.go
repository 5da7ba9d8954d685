package property

import (
	"strconv"

	"syncd/internal/emulator/gazetteer"
	"syncd/internal/emulator/service"
	"syncd/internal/emulator/wire"
)

// defaultDeedGroups are the groups of a request without Columns.
var defaultDeedGroups = []string{"DocInfo", "TxDefInfo", "TxAmtInfo", "PrimaryGrantor", "PrimaryGrantee", "Mortgage1"}

const maxDeedsPerPage = 100

// lookupDeeds answers with one page of a parcel's sales, the newest first.
// TotalRecords counts all of them.
func (l lookups) lookupDeeds(c *service.Call) {
	if !checkDeeds(c) {
		return
	}
	page, perPage, ok := readPage(c)
	if !ok {
		return
	}
	a := l.findDeeds(c)
	if a == nil || a.Parcel == nil {
		c.Reply(nil)
		return
	}
	asked := selectColumns(c.Value("Columns"), defaultDeedGroups...)
	var rows []wire.Fields
	for i, d := range a.Parcel.Deeds {
		if i/max(perPage, 1) == page-1 && perPage > 0 {
			rows = append(rows, deedRow(d, asked))
		}
	}
	replyFound(c, len(a.Parcel.Deeds), rows)
}

// checkDeeds returns whether a request names a parcel. It answers 400 when it does
// not.
func checkDeeds(c *service.Call) bool {
	switch fips, apn := c.Value("FIPS"), c.Value("APN"); {
	case c.First("PropertyMAK", "FreeForm") != "", fips != "" && apn != "":
		return true
	case fips != "":
		c.Missing("APN")
	case apn != "":
		c.Missing("FIPS")
	default:
		c.Missing("PropertyMAK")
	}
	return false
}

// readPage reads the options for paging. It answers 400 for one that is not a
// number, and clamps numbers to their range.
func readPage(c *service.Call) (page, perPage int, ok bool) {
	opt := c.Options("Options")
	page, ok1 := whole(opt["page"], 1)
	perPage, ok2 := whole(opt["recordsperpage"], 1)
	if !ok1 || !ok2 {
		c.Invalid(service.FaultyInput{Name: "Options", Text: "Page and RecordsPerPage must be whole numbers."})
		return 0, 0, false
	}
	return max(page, 1), min(max(perPage, 0), maxDeedsPerPage), true
}

// whole reads a whole number. An empty text gives byDefault.
func whole(text string, byDefault int) (int, bool) {
	if text == "" {
		return byDefault, true
	}
	n, err := strconv.Atoi(text)
	return n, err == nil
}

func (l lookups) findDeeds(c *service.Call) *gazetteer.Address {
	if c.First("PropertyMAK", "FreeForm") == "" {
		return l.world.ByParcel(c.Value("FIPS"), c.Value("APN"))
	}
	return l.byKeyOrText(c.Value("PropertyMAK"), c.Value("FreeForm"))
}

func deedRow(d gazetteer.Deed, asked selection) wire.Fields {
	var row wire.Fields
	for _, g := range deedGroups {
		row = append(row, wire.Field{Key: g.name, Value: asked.of(g.name, g.values("", knownOfDeed(g.name, d)))})
	}
	return row
}

// knownOfDeed returns the members of a group that the world knows.
func knownOfDeed(group string, d gazetteer.Deed) wire.Fields {
	switch group {
	case "DocInfo":
		return wire.Fields{
			{"Book", d.Book}, {"InstrumentDate", compact(d.Date)}, {"InstrumentNumber", d.Instrument},
			{"Page", d.Page}, {"RecordingDate", compact(d.RecordingDate)}, {"TypeCode", d.Type},
		}
	case "TxDefInfo":
		return wire.Fields{{"ArmsLengthFlag", "1"}, {"QuitclaimFlag", "0"}, {"TransactionType", "Resale"}}
	case "TxAmtInfo":
		return wire.Fields{{"TransferAmount", strconv.Itoa(d.Price)}, {"TransferTaxTotal", "0.00"}}
	case "PrimaryGrantor":
		return names(d.Grantor)
	case "PrimaryGrantee":
		return names(d.Grantee, d.CoGrantee)
	case "TitleCompInfo":
		return wire.Fields{{"StandardizedName", d.TitleCompany}, {"TitleCompanyRaw", d.TitleCompany}}
	case "Mortgage1":
		return deedMortgage(d)
	}
	return nil
}

func deedMortgage(d gazetteer.Deed) wire.Fields {
	if d.Lender == "" {
		return nil
	}
	return wire.Fields{
		{"Amount", strconv.Itoa(d.MortgageAmount)},
		{"Book", d.Book},
		{"InterestRate", d.InterestRate},
		{"LenderFullName", d.Lender},
		{"Page", d.Page},
		{"RecordingDate", compact(d.RecordingDate)},
		{"Term", strconv.Itoa(12 * d.MortgageTerm)},
		{"TermDate", compact(d.MortgageDue)},
		{"Type", "CNV"},
	}
}
