package listing

import (
	"errors"
	"slices"
	"strings"

	"syncd/internal/emulator/gazetteer"
)

func zipFilter(wanted []struct{ Zip, Plus4, CarrierRoute string }) (predicate, error) {
	for _, w := range wanted {
		if w.Zip == "" {
			return nil, errors.New("the Zip field is required")
		}
	}
	return func(r row) bool {
		for _, w := range wanted {
			if w.Zip == r.address.ZIP && (w.Plus4 == "" || w.Plus4 == r.address.Plus4) &&
				(w.CarrierRoute == "" || strings.EqualFold(w.CarrierRoute, r.address.CarrierRoute)) {
				return true
			}
		}
		return false
	}, nil
}

type city struct{ City, State string }

func cityFilter(wanted []city) (predicate, error) {
	if slices.ContainsFunc(wanted, func(w city) bool { return w.City == "" || w.State == "" }) {
		return nil, errors.New("the City and State fields are required")
	}
	return func(r row) bool {
		return slices.ContainsFunc(wanted, func(w city) bool {
			return strings.EqualFold(w.City, r.address.City) && strings.EqualFold(w.State, r.address.State)
		})
	}, nil
}

func radiusFilter(circle struct{ Latitude, Longitude, Distance *float64 }) (predicate, error) {
	if circle.Latitude == nil || circle.Longitude == nil || circle.Distance == nil {
		return nil, errors.New("the Latitude, Longitude and Distance fields are required")
	}
	return func(r row) bool {
		return gazetteer.Miles(*circle.Latitude, *circle.Longitude, r.address.Latitude, r.address.Longitude) <= *circle.Distance
	}, nil
}

func shapeFilter(texts []string) (predicate, error) {
	shapes := make([]polygon, len(texts))
	for i, text := range texts {
		var err error
		if shapes[i], err = parsePolygon(text); err != nil {
			return nil, err
		}
	}
	return func(r row) bool {
		at := position{r.address.Longitude, r.address.Latitude}
		return slices.ContainsFunc(shapes, func(p polygon) bool { return p.contains(at) })
	}, nil
}

func streetFilter(wanted []struct{ ZipCode, Street string }) (predicate, error) {
	return func(r row) bool {
		a := r.address
		for _, w := range wanted {
			street := w.Street == "" || strings.EqualFold(w.Street, a.Street) || strings.EqualFold(w.Street, a.Thoroughfare())
			if street && (w.ZipCode == "" || w.ZipCode == a.ZIP) {
				return true
			}
		}
		return false
	}, nil
}
