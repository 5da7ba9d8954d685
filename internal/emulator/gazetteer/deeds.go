package gazetteer

import "fmt"

// addDeeds adds the sales of each parcel. The newest one is the purchase by the
// present owner.
func (b *builder) addDeeds() {
	for _, a := range b.w.addresses {
		if a.Parcel != nil {
			b.addDeedsTo(a)
		}
	}
}

func (b *builder) addDeedsTo(a *Address) {
	p, r := a.Parcel, b.randomFor(a, "deeds")
	year := r.between(2006, Year)
	buyer, second := p.Owner, p.CoOwner
	for range r.between(1, 4) {
		seller := b.newPerson(r, r.pick(lastNames), a.State)
		deed := newDeed(r, p, year)
		deed.Grantor, deed.Grantee, deed.CoGrantee = seller, buyer, second
		if a.MAK == sampleMAK && len(p.Deeds) == 0 {
			deed.setSale(r, sampleDate, samplePrice)
		}
		p.Deeds = append(p.Deeds, deed)
		buyer, second = seller, nil
		year -= r.between(3, 9)
	}
	if p.YearBuilt > year {
		p.YearBuilt = year
	}
}

// newDeed returns a sale at about the value of the parcel in that year.
func newDeed(r *random, p *Parcel, year int) Deed {
	price := p.MarketTotal() * (100 - 2*(Year-year)) / 100
	deed := Deed{
		Type:         "WD", // warranty deed
		Book:         fmt.Sprint(r.between(100, 999)),
		Page:         fmt.Sprint(r.between(1, 900)),
		TitleCompany: r.pick(titleCompanies),
	}
	if r.chance(75) {
		deed.Lender = r.pick(lenders)
	}
	deed.setSale(r, r.date(year, year), price/500*500)
	return deed
}

// setSale sets the date, the price, and the values that depend on them.
func (deed *Deed) setSale(r *random, date string, price int) {
	deed.Date, deed.Price = date, price
	deed.RecordingDate = date[:8] + fmt.Sprintf("%02d", min(day(date)+r.between(1, 6), 28))
	deed.Instrument = date[:4] + fmt.Sprintf("%06d", r.between(1000, 99999))
	if deed.Lender == "" {
		return
	}
	deed.MortgageAmount, deed.MortgageTerm = price*8/10, 15*r.between(1, 2)
	deed.MortgageDue = fmt.Sprintf("%d%s", yearOf(date)+deed.MortgageTerm, date[4:])
	deed.InterestRate = fmt.Sprintf("%d.%02d", r.between(3, 6), 25*r.below(4))
}

func yearOf(date string) int { return number(date[:4]) }

func day(date string) int { return number(date[8:]) }

// number reads a text of digits.
func number(digits string) int {
	n := 0
	for _, c := range digits {
		n = 10*n + int(c-'0')
	}
	return n
}
