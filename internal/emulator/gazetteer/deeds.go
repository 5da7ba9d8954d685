package gazetteer

import "fmt"

// makeDeeds gives each parcel its sales, back from the one that made the
// present owner.
func (b *builder) makeDeeds() {
	for _, a := range b.w.addresses {
		if a.Parcel != nil {
			b.sell(a)
		}
	}
}

func (b *builder) sell(a *Address) {
	p, d := a.Parcel, b.drawFor(a, "deeds")
	year := d.between(2006, lastYear)
	buyer, second := p.Owner, p.CoOwner
	for range d.between(1, 4) {
		seller := b.newPerson(d, d.pick(lastNames), a.State)
		deed := newDeed(d, p, year)
		deed.Grantor, deed.Grantee, deed.CoGrantee = seller, buyer, second
		if a.MAK == sampleMAK && len(p.Deeds) == 0 {
			deed.setSale(d, sampleDate, samplePrice)
		}
		p.Deeds = append(p.Deeds, deed)
		buyer, second = seller, nil
		year -= d.between(3, 9)
	}
	if p.YearBuilt > year {
		p.YearBuilt = year
	}
}

// newDeed makes a sale at about the value of the land in that year.
func newDeed(d *draw, p *Parcel, year int) Deed {
	price := p.MarketTotal() * (100 - 2*(lastYear-year)) / 100
	deed := Deed{
		Type:         "WD", // warranty deed
		Book:         fmt.Sprint(d.between(100, 999)),
		Page:         fmt.Sprint(d.between(1, 900)),
		TitleCompany: d.pick(titleCompanies),
	}
	if d.chance(75) {
		deed.Lender = d.pick(lenders)
	}
	deed.setSale(d, d.date(year, year), price/500*500)
	return deed
}

// setSale sets the date and the price, and what follows from them.
func (deed *Deed) setSale(d *draw, date string, price int) {
	deed.Date, deed.Price = date, price
	deed.RecordingDate = date[:8] + fmt.Sprintf("%02d", min(day(date)+d.between(1, 6), 28))
	deed.Instrument = date[:4] + fmt.Sprintf("%06d", d.between(1000, 99999))
	if deed.Lender == "" {
		return
	}
	deed.MortgageAmount, deed.MortgageTerm = price*8/10, 15*d.between(1, 2)
	deed.MortgageDue = fmt.Sprintf("%d%s", yearOf(date)+deed.MortgageTerm, date[4:])
	deed.InterestRate = fmt.Sprintf("%d.%02d", d.between(3, 6), 25*d.below(4))
}

func yearOf(date string) int { return number(date[:4]) }

func day(date string) int { return number(date[8:]) }

// number reads digits that are known to be such.
func number(digits string) int {
	n := 0
	for _, c := range digits {
		n = 10*n + int(c-'0')
	}
	return n
}
