package service

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// Decimal is a number that the wire writes as text, in plain digits.
type Decimal float64

// MarshalText writes the number without an exponent.
func (d Decimal) MarshalText() ([]byte, error) {
	f := float64(d)
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, errors.New("not a number")
	}
	return strconv.AppendFloat(nil, f, 'f', -1, 64), nil
}

// UnmarshalText reads a number; infinity is none.
func (d *Decimal) UnmarshalText(text []byte) error {
	f, err := strconv.ParseFloat(strings.TrimSpace(string(text)), 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return errors.New("not a number")
	}
	*d = Decimal(f)
	return nil
}

// Point is a place on earth, in decimal degrees.
type Point struct{ Latitude, Longitude Decimal }

// List is what the wire writes as one text with commas between the items.
type List []string

// MarshalText joins the items.
func (l List) MarshalText() ([]byte, error) { return []byte(strings.Join(l, ",")), nil }

// Flag is a truth value that the wire writes as text; "" leaves it unsaid.
type Flag string

// The truth values.
const (
	True  Flag = "True"
	False Flag = "False"
)
