package gazetteer

import (
	"strings"
	"sync"
)

// World holds the addresses, people and businesses. It does not change after New,
// and its methods are safe for concurrent use. Callers must not change the values
// that they return.
type World struct {
	addresses    []*Address
	byMAK        map[string]*Address
	byAddressKey map[string]*Address
	byParcel     map[string]*Address
	byAccount    map[string]*Address
	byLine       map[string][]*Address
	units        map[string][]*Address // by the key of the building
	homes        map[string][]*Address // by the key of the owner's address
	words        map[*Address]words

	movers     []Mover
	homeowners []Homeowner
	residents  []Resident
	businesses []Business
}

// New returns the world, which all callers share. The first call reads it in a few
// milliseconds.
func New() *World { return shared() }

var shared = sync.OnceValue(build)

func build() *World {
	w := readWorld()
	w.index()
	return w
}

// Addresses returns all addresses in the order of cities, streets and numbers.
func (w *World) Addresses() []*Address { return w.addresses }

// ByMAK finds an address by its key of 10 digits. Like all methods that find one
// address, it returns nil for none.
func (w *World) ByMAK(mak string) *Address { return w.byMAK[strings.TrimSpace(mak)] }

// ByAddressKey finds an address by its key of 11 digits: postal code, Plus4 and
// delivery point.
func (w *World) ByAddressKey(key string) *Address { return w.byAddressKey[strings.TrimSpace(key)] }

// ByParcel finds an address by county and parcel number, with or without the
// dashes of the number.
func (w *World) ByParcel(fips, apn string) *Address {
	return w.byParcel[strings.TrimSpace(fips)+"/"+unformatted(apn)]
}

// ByAccount finds an address by county and the assessor's account number.
func (w *World) ByAccount(fips, account string) *Address {
	return w.byAccount[strings.TrimSpace(fips)+"/"+strings.ToUpper(strings.TrimSpace(account))]
}

// Units returns the apartments of the building with the key mak.
func (w *World) Units(mak string) []*Address { return w.units[mak] }

// HomesOwnedFrom returns the addresses whose owner lives at the address with the
// key mak. That address is one of them when its owner lives there.
func (w *World) HomesOwnedFrom(mak string) []*Address { return w.homes[mak] }

// Movers returns the people who moved from one address of the world to another.
func (w *World) Movers() []Mover { return w.movers }

// Homeowners returns the people who bought the home that they live in, with the
// newest deed of each.
func (w *World) Homeowners() []Homeowner { return w.homeowners }

// Residents returns the people at the residential addresses, one or two at each.
func (w *World) Residents() []Resident { return w.residents }

// Businesses returns the firms, one at each business address.
func (w *World) Businesses() []Business { return w.businesses }

// index fills the maps once the addresses are complete.
func (w *World) index() {
	w.byMAK, w.byAddressKey = map[string]*Address{}, map[string]*Address{}
	w.byParcel, w.byAccount = map[string]*Address{}, map[string]*Address{}
	w.byLine, w.words = map[string][]*Address{}, map[*Address]words{}
	w.units, w.homes = map[string][]*Address{}, map[string][]*Address{}
	for _, a := range w.addresses {
		w.byMAK[a.MAK], w.byAddressKey[a.AddressKey] = a, a
		known := wordsOf(a)
		w.words[a] = known
		line := strings.Join(known.line, " ")
		w.byLine[line] = append(w.byLine[line], a)
		if a.BaseMAK != "" {
			w.units[a.BaseMAK] = append(w.units[a.BaseMAK], a)
		}
		w.indexParcel(a)
	}
}

func (w *World) indexParcel(a *Address) {
	p := a.Parcel
	if p == nil {
		return
	}
	w.byParcel[p.FIPS+"/"+p.UnformattedAPN] = a
	w.byAccount[p.FIPS+"/"+p.Account] = a
	w.homes[p.OwnerAddress.MAK] = append(w.homes[p.OwnerAddress.MAK], a)
}

// unformatted removes all but letters and digits from a parcel number.
func unformatted(apn string) string {
	return strings.Join(split(apn), "")
}
