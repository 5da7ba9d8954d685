package service

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// Decimal is a number that bodies carry as text, in plain digits.
type Decimal float64

var errNotFinite = errors.New("not a finite number")

// MarshalText writes the number without an exponent.
func (d Decimal) MarshalText() ([]byte, error) {
	f := float64(d)
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, errNotFinite
	}
	return strconv.AppendFloat(nil, f, 'f', -1, 64), nil
}

// UnmarshalText reads a finite number. After an error d is unchanged.
func (d *Decimal) UnmarshalText(text []byte) error {
	f, err := strconv.ParseFloat(strings.TrimSpace(string(text)), 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return errNotFinite
	}
	*d = Decimal(f)
	return nil
}

// Point is a place on earth, in decimal degrees.
type Point struct{ Latitude, Longitude Decimal }

// List is a list that bodies carry as one text with commas between the items.
type List []string

// MarshalText joins the items.
func (l List) MarshalText() ([]byte, error) { return []byte(strings.Join(l, ",")), nil }

// Flag is a truth value that bodies carry as text. An empty Flag is not sent.
type Flag string

// The truth values.
const (
	True  Flag = "True"
	False Flag = "False"
)
