package gazetteer

import (
	"fmt"
	"strings"
)

// household is who lives in a home: one person, or two of one name.
type household struct {
	home   *Address
	people []*Person
}

// settle fills the homes and the shops, and says who owns them.
func (b *builder) settle() {
	for _, a := range b.w.addresses {
		switch {
		case a.Parcel == nil || a.EmptyLot:
		case a.RBDI == "B":
			b.openShop(a)
		default:
			b.moveIn(a)
		}
	}
	b.rentOut()
}

// moveIn makes a household and its head the owner.
func (b *builder) moveIn(a *Address) {
	d := b.drawFor(a, "people")
	last := d.pick(lastNames)
	head := b.newPerson(d, last, a.State)
	if a.MAK == sampleMAK {
		head.setName("Ada", "", "Quill")
		head.Gender = "F"
	}
	h := household{home: a, people: []*Person{head}}
	if d.chance(55) && a.MAK != sampleMAK {
		h.people = append(h.people, b.newPerson(d, last, a.State))
		a.Parcel.CoOwner = h.people[1]
	}
	a.Parcel.Owner, a.Parcel.OwnerAddress = head, a
	b.households = append(b.households, h)
}

// rentOut gives every eleventh home, and all empty lots, to owners who live
// elsewhere: each of these landlords owns two or three properties.
func (b *builder) rentOut() {
	landlords := b.landlords()
	for k, a := range b.rentals() {
		home := landlords[k/2%len(landlords)]
		a.Parcel.Owner, a.Parcel.CoOwner = home.Parcel.Owner, home.Parcel.CoOwner
		a.Parcel.OwnerAddress = home
	}
}

// landlords begins with the sample's owner.
func (b *builder) landlords() []*Address {
	var homes []*Address
	for i, h := range b.households {
		switch {
		case h.home.MAK == sampleMAK:
			homes = append([]*Address{h.home}, homes...)
		case i%11 == 3:
			homes = append(homes, h.home)
		}
	}
	return homes
}

// rentals never names a landlord's own home.
func (b *builder) rentals() []*Address {
	var homes []*Address
	for i, h := range b.households {
		if i%11 == 8 && h.home.MAK != sampleMAK {
			homes = append(homes, h.home)
		}
	}
	for _, a := range b.w.addresses {
		if a.EmptyLot {
			homes = append(homes, a)
		}
	}
	return homes
}

// openShop makes a business, whose contact owns the land.
func (b *builder) openShop(a *Address) {
	d := b.drawFor(a, "firm")
	contact := b.newPerson(d, d.pick(lastNames), a.State)
	a.Parcel.Owner, a.Parcel.OwnerAddress = contact, a
	t := trades[len(b.w.businesses)%len(trades)]
	name := d.pick(firmNames) + " " + t.name
	site := strings.ToLower(strings.ReplaceAll(name, " ", "-")) + ".example"
	employees := d.between(2, 60)
	b.w.businesses = append(b.w.businesses, Business{
		Name: name, Address: a, Phone: phone(d, a.State), SIC: t.sic, NAICS: t.naics, Trade: t.name,
		Employees: employees, Sales: employees * d.between(60, 140) * 1000, Founded: d.between(1951, 2021),
		Contact: contact, Title: d.pick(titles), Website: "https://www." + site, Email: "office@" + site,
	})
}

func (b *builder) newPerson(d *draw, last, state string) *Person {
	b.person += 13
	p := &Person{IdentityKey: fmt.Sprint(b.person), BirthYear: d.between(1941, 2001), Phone: phone(d, state)}
	first := women
	p.Gender = "F"
	if d.chance(50) {
		first, p.Gender = men, "M"
	}
	middle := ""
	if d.chance(40) {
		middle = string(rune('A' + d.below(26)))
	}
	p.setName(d.pick(first), middle, last)
	return p
}

func (p *Person) setName(first, middle, last string) {
	p.First, p.Middle, p.Last = first, middle, last
	p.Email = strings.ToLower(first+"."+last) + "@example.test"
}

// phone stays within the numbers that are reserved for fiction.
func phone(d *draw, state string) string {
	for _, co := range plan {
		if co.state == state {
			return fmt.Sprintf("%s55501%02d", co.areaCode, d.below(100))
		}
	}
	return ""
}
