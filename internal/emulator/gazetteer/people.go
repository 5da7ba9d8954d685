package gazetteer

import (
	"fmt"
	"strings"
)

// household is the people of a home: one person, or two with the same last name.
type household struct {
	home   *Address
	people []*Person
}

// addPeople adds households, businesses and the owners of all parcels.
func (b *builder) addPeople() {
	for _, a := range b.w.addresses {
		switch {
		case a.Parcel == nil || a.EmptyLot:
		case a.RBDI == "B":
			b.addBusiness(a)
		default:
			b.addHousehold(a)
		}
	}
	b.addLandlords()
}

// addHousehold adds a household. Its head owns the home.
func (b *builder) addHousehold(a *Address) {
	r := b.randomFor(a, "people")
	last := r.pick(lastNames)
	head := b.newPerson(r, last, a.State)
	if a.MAK == sampleMAK {
		head.setName("Ada", "", "Quill")
		head.Gender = "F"
	}
	h := household{home: a, people: []*Person{head}}
	if r.chance(55) && a.MAK != sampleMAK {
		h.people = append(h.people, b.newPerson(r, last, a.State))
		a.Parcel.CoOwner = h.people[1]
	}
	a.Parcel.Owner, a.Parcel.OwnerAddress = head, a
	b.households = append(b.households, h)
}

// addLandlords gives every eleventh home and all empty lots to owners who live
// elsewhere. Each landlord owns two or three properties.
func (b *builder) addLandlords() {
	landlords := b.landlords()
	for k, a := range b.rentals() {
		home := landlords[k/2%len(landlords)]
		a.Parcel.Owner, a.Parcel.CoOwner = home.Parcel.Owner, home.Parcel.CoOwner
		a.Parcel.OwnerAddress = home
	}
}

// landlords returns the homes of the landlords, that of the sample first.
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

// rentals returns the homes that landlords own, without their own homes.
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

// addBusiness adds a business. Its contact owns the parcel.
func (b *builder) addBusiness(a *Address) {
	r := b.randomFor(a, "firm")
	contact := b.newPerson(r, r.pick(lastNames), a.State)
	a.Parcel.Owner, a.Parcel.OwnerAddress = contact, a
	t := trades[len(b.w.businesses)%len(trades)]
	name := r.pick(firmNames) + " " + t.name
	site := strings.ToLower(strings.ReplaceAll(name, " ", "-")) + ".example"
	employees := r.between(2, 60)
	b.w.businesses = append(b.w.businesses, Business{
		Name: name, Address: a, Phone: phone(r, a.State), SIC: t.sic, NAICS: t.naics, Trade: t.name,
		Employees: employees, Sales: employees * r.between(60, 140) * 1000, Founded: r.between(1951, 2021),
		Contact: contact, Title: r.pick(titles), Website: "https://www." + site, Email: "office@" + site,
	})
}

func (b *builder) newPerson(r *random, last, state string) *Person {
	b.person += 13
	p := &Person{IdentityKey: fmt.Sprint(b.person), BirthYear: r.between(1941, 2001), Phone: phone(r, state)}
	first := women
	p.Gender = "F"
	if r.chance(50) {
		first, p.Gender = men, "M"
	}
	middle := ""
	if r.chance(40) {
		middle = string(rune('A' + r.below(26)))
	}
	p.setName(r.pick(first), middle, last)
	return p
}

func (p *Person) setName(first, middle, last string) {
	p.First, p.Middle, p.Last = first, middle, last
	p.Email = strings.ToLower(first+"."+last) + "@example.test"
}

// phone returns a number of the range that is reserved for fiction.
func phone(r *random, state string) string {
	for _, co := range plan {
		if co.state == state {
			return fmt.Sprintf("%s55501%02d", co.areaCode, r.below(100))
		}
	}
	return ""
}
