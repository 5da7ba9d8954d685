package gazetteer

import "fmt"

// seed determines all names and values of the world.
const seed = 0x5eed0fb1d5

// random is a stream of pseudo-random numbers (splitmix64). A generator of the
// standard library could change with a new version, and with it the world.
type random struct{ state uint64 }

// randomFor returns the stream for one purpose at one address. A further purpose
// does not change the values of the others.
func (b *builder) randomFor(a *Address, purpose string) *random {
	r := &random{seed}
	for _, c := range []byte(a.Line + a.ZIP + purpose) {
		r.state = r.next() ^ uint64(c)
	}
	return r
}

func (r *random) next() uint64 {
	r.state += 0x9e3779b97f4a7c15
	x := r.state
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// below returns a number from 0 to n-1.
func (r *random) below(n int) int { return int(r.next() % uint64(n)) }

// between returns a number from low to high.
func (r *random) between(low, high int) int { return low + r.below(high-low+1) }

// chance is true with a probability in per cent.
func (r *random) chance(percent int) bool { return r.below(100) < percent }

func (r *random) pick(list []string) string { return list[r.below(len(list))] }

// date returns a day in the years from first to last, YYYY-MM-DD. In the present
// year it is in the first six months.
func (r *random) date(first, last int) string {
	year, month := r.between(first, last), r.between(1, 12)
	if year == Year {
		month = (month + 1) / 2
	}
	return fmt.Sprintf("%04d-%02d-%02d", year, month, r.between(1, 28))
}

// Year is the present year of the world. Ages refer to it.
const Year = 2026
