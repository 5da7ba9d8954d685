package emulator

import (
	"strconv"

	"syncd/internal/emulator/gazetteer"
)

// usualDeed are the groups of a request that names none.
var usualDeed = []string{"DocInfo", "TxDefInfo", "TxAmtInfo", "PrimaryGrantor", "PrimaryGrantee", "Mortgage1"}

const maxDeedsPerPage = 100

// lookupDeeds answers with one page of a parcel's sales, the newest first.
// TotalRecords counts all of them.
func (e *Emulator) lookupDeeds(c *serviceCall) {
	if !c.checkDeeds() {
		return
	}
	page, perPage, ok := c.page()
	if !ok {
		return
	}
	a := e.findDeeds(c)
	if a == nil || a.Parcel == nil {
		c.reply(nil)
		return
	}
	asked := selectColumns(c.value("Columns"), usualDeed...)
	var rows []fields
	for i, d := range a.Parcel.Deeds {
		if i/max(perPage, 1) == page-1 && perPage > 0 {
			rows = append(rows, deedRow(d, asked))
		}
	}
	c.replyFound(len(a.Parcel.Deeds), rows)
}

func (c *serviceCall) checkDeeds() bool {
	switch fips, apn := c.value("FIPS"), c.value("APN"); {
	case c.first("PropertyMAK", "FreeForm") != "", fips != "" && apn != "":
		return true
	case fips != "":
		c.missing("APN")
	case apn != "":
		c.missing("FIPS")
	default:
		c.missing("PropertyMAK")
	}
	return false
}

// page reads the options for paging, and answers 400 when they are no numbers.
// What is out of range is moved into it.
func (c *serviceCall) page() (page, perPage int, ok bool) {
	opt := options(c.value("Options"))
	page, ok1 := whole(opt["page"], 1)
	perPage, ok2 := whole(opt["recordsperpage"], 1)
	if !ok1 || !ok2 {
		c.invalid(faultyInput{"Options", "Page and RecordsPerPage must be whole numbers."})
		return 0, 0, false
	}
	return max(page, 1), min(max(perPage, 0), maxDeedsPerPage), true
}

// whole reads a whole number; "" is the usual one.
func whole(text string, usual int) (int, bool) {
	if text == "" {
		return usual, true
	}
	n, err := strconv.Atoi(text)
	return n, err == nil
}

func (e *Emulator) findDeeds(c *serviceCall) *gazetteer.Address {
	if c.first("PropertyMAK", "FreeForm") == "" {
		return e.world.ByParcel(c.value("FIPS"), c.value("APN"))
	}
	return e.byKeyOrText(c.value("PropertyMAK"), c.value("FreeForm"))
}

func deedRow(d gazetteer.Deed, asked selection) fields {
	var row fields
	for _, g := range deedGroups {
		row = append(row, field{g.name, asked.of(g.name, g.values("", knownOfDeed(g.name, d)))})
	}
	return row
}

// knownOfDeed returns what the world knows of a group; all else stays blank.
func knownOfDeed(group string, d gazetteer.Deed) fields {
	switch group {
	case "DocInfo":
		return fields{
			{"Book", d.Book}, {"InstrumentDate", compact(d.Date)}, {"InstrumentNumber", d.Instrument},
			{"Page", d.Page}, {"RecordingDate", compact(d.RecordingDate)}, {"TypeCode", d.Type},
		}
	case "TxDefInfo":
		return fields{{"ArmsLengthFlag", "1"}, {"QuitclaimFlag", "0"}, {"TransactionType", "Resale"}}
	case "TxAmtInfo":
		return fields{{"TransferAmount", strconv.Itoa(d.Price)}, {"TransferTaxTotal", "0.00"}}
	case "PrimaryGrantor":
		return names(d.Grantor)
	case "PrimaryGrantee":
		return names(d.Grantee, d.CoGrantee)
	case "TitleCompInfo":
		return fields{{"StandardizedName", d.TitleCompany}, {"TitleCompanyRaw", d.TitleCompany}}
	case "Mortgage1":
		return deedMortgage(d)
	}
	return nil
}

func deedMortgage(d gazetteer.Deed) fields {
	if d.Lender == "" {
		return nil
	}
	return fields{
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
