package gazetteer

import "fmt"

// seed makes the world what it is: another one would shuffle names and values.
const seed = 0x5eed0fb1d5

// draw is a small stream of pseudo-random numbers (splitmix64). It is the
// package's own, so that no new version of a library changes the world.
type draw struct{ state uint64 }

// drawFor returns the stream of one purpose at one address, so that a new
// purpose leaves the values of all others as they are.
func (b *builder) drawFor(a *Address, purpose string) *draw {
	d := &draw{seed}
	for _, c := range []byte(a.Line + a.ZIP + purpose) {
		d.state = d.next() ^ uint64(c)
	}
	return d
}

func (d *draw) next() uint64 {
	d.state += 0x9e3779b97f4a7c15
	x := d.state
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// below returns a number from 0 to n-1.
func (d *draw) below(n int) int { return int(d.next() % uint64(n)) }

// between returns a number from low to high.
func (d *draw) between(low, high int) int { return low + d.below(high-low+1) }

// chance is true in so many of a hundred cases.
func (d *draw) chance(percent int) bool { return d.below(100) < percent }

func (d *draw) pick(list []string) string { return list[d.below(len(list))] }

// date returns a day of the years from first to last, YYYY-MM-DD. The last
// year of the world, 2026, ends in June.
func (d *draw) date(first, last int) string {
	year, month := d.between(first, last), d.between(1, 12)
	if year == lastYear {
		month = (month + 1) / 2
	}
	return fmt.Sprintf("%04d-%02d-%02d", year, month, d.between(1, 28))
}

// lastYear is the present of the world.
const lastYear = 2026
