package listing

import (
	"fmt"
	"strconv"
	"strings"
)

// position is a point. Well-known text puts the longitude first.
type position struct{ lon, lat float64 }

// polygon is an outer ring and the holes in it.
type polygon [][]position

// contains counts the rings around a point. A point in a hole has two.
func (p polygon) contains(at position) bool {
	inside := false
	for _, ring := range p {
		for i, a := range ring {
			if b := ring[(i+1)%len(ring)]; crosses(a, b, at) {
				inside = !inside
			}
		}
	}
	return inside
}

// crosses returns whether the edge from a to b passes east of a point.
func crosses(a, b, at position) bool {
	if (a.lat > at.lat) == (b.lat > at.lat) {
		return false
	}
	return at.lon < a.lon+(at.lat-a.lat)/(b.lat-a.lat)*(b.lon-a.lon)
}

// parsePolygon reads "POLYGON((lon lat, …), (…))".
func parsePolygon(text string) (polygon, error) {
	wrong := fmt.Errorf("%q is not a POLYGON in well-known text", text)
	body := strings.TrimSpace(text)
	if len(body) < len("POLYGON") || !strings.EqualFold(body[:len("POLYGON")], "POLYGON") {
		return nil, wrong
	}
	body, ok := within(body[len("POLYGON"):])
	if !ok {
		return nil, wrong
	}
	var p polygon
	for part := range strings.SplitAfterSeq(body, ")") {
		part = strings.TrimLeft(part, ", ")
		if part == "" {
			continue
		}
		points, ok := within(part)
		if !ok {
			return nil, wrong
		}
		ring, ok := parseRing(points)
		if !ok {
			return nil, wrong
		}
		p = append(p, ring)
	}
	if len(p) == 0 {
		return nil, wrong
	}
	return p, nil
}

// within removes the parentheses around a text.
func within(text string) (string, bool) {
	text = strings.TrimSpace(text)
	inner, opened := strings.CutPrefix(text, "(")
	inner, closed := strings.CutSuffix(inner, ")")
	return inner, opened && closed
}

// parseRing reads a ring of at least a triangle. Its last point repeats the first.
func parseRing(text string) ([]position, bool) {
	var ring []position
	for pair := range strings.SplitSeq(text, ",") {
		numbers := strings.Fields(pair)
		if len(numbers) != 2 {
			return nil, false
		}
		lon, err1 := strconv.ParseFloat(numbers[0], 64)
		lat, err2 := strconv.ParseFloat(numbers[1], 64)
		if err1 != nil || err2 != nil {
			return nil, false
		}
		ring = append(ring, position{lon, lat})
	}
	return ring, len(ring) >= 4 && ring[0] == ring[len(ring)-1]
}
