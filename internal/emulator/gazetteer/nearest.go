package gazetteer

import (
	"cmp"
	"math"
	"slices"
)

// earthRadius is in miles.
const earthRadius = 3958.8

// Found is an address with its distance from a point.
type Found struct {
	*Address
	Miles float64
}

// Nearest returns the addresses within a distance of a point, the nearest first.
func (w *World) Nearest(lat, lon, miles float64) []Found {
	var found []Found
	for _, a := range w.addresses {
		if m := Miles(lat, lon, a.Latitude, a.Longitude); m <= miles {
			found = append(found, Found{a, m})
		}
	}
	slices.SortStableFunc(found, func(a, b Found) int { return cmp.Compare(a.Miles, b.Miles) })
	return found
}

// Miles returns the distance between two points, by the haversine formula.
func Miles(lat1, lon1, lat2, lon2 float64) float64 {
	const degree = math.Pi / 180
	sinLat, sinLon := math.Sin((lat2-lat1)*degree/2), math.Sin((lon2-lon1)*degree/2)
	h := sinLat*sinLat + math.Cos(lat1*degree)*math.Cos(lat2*degree)*sinLon*sinLon
	return 2 * earthRadius * math.Asin(math.Sqrt(min(h, 1)))
}
