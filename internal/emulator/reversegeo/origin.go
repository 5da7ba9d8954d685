package reversegeo

import (
	"math"
	"strconv"

	"syncd/internal/emulator/gazetteer"
	"syncd/internal/emulator/service"
)

// The limits of the service are its defaults too. A larger number counts as the
// limit.
const (
	maxMiles   = 10
	maxRecords = 100
	maxTargets = 100
)

// origin is the point that a search starts from, with its bounds.
type origin struct {
	lat, lon float64
	miles    float64
	records  int
}

// readOrigin reads the point of a request and its bounds. It answers 400 when one
// is missing or wrong.
func readOrigin(c *service.Call) (origin, bool) {
	if !c.Require("Latitude", "Longitude") {
		return origin{}, false
	}
	from, ok := readBounds(c)
	if !ok {
		return from, false
	}
	n := numbers{call: c}
	from.lat, from.lon = n.read("Latitude", 0), n.read("Longitude", 0)
	return from, n.valid()
}

// readBounds reads the distance and the number of records. It answers 400 when
// one is wrong.
func readBounds(c *service.Call) (origin, bool) {
	n := numbers{call: c}
	miles, records := n.read("MaxDistance", maxMiles), n.read("MaxRecords", maxRecords)
	if records < 1 || records > maxRecords {
		records = maxRecords
	}
	return origin{miles: min(max(miles, 0), maxMiles), records: int(records)}, n.valid()
}

// numbers reads inputs and collects those that are not numbers.
type numbers struct {
	call   *service.Call
	faulty []service.FaultyInput
}

// read returns an input as a number, the default for an empty one.
func (n *numbers) read(name string, byDefault float64) float64 {
	text := n.call.Value(name)
	if text == "" {
		return byDefault
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		n.faulty = append(n.faulty, service.FaultyInput{Name: name, Text: "The value '" + text + "' is not a number."})
		return byDefault
	}
	return v
}

// valid returns whether all inputs were numbers. It answers 400 when one was not.
func (n *numbers) valid() bool {
	if len(n.faulty) > 0 {
		n.call.Invalid(n.faulty...)
	}
	return len(n.faulty) == 0
}

// include says which kinds of addresses an answer holds.
type include struct{ apartments, emptyLots bool }

// readInclude reads the options. The empty lots are the only undeliverable
// addresses of the world.
func readInclude(c *service.Call) include {
	opt := c.Options("Options")
	return include{
		apartments: opt["includeapartments"] == "on",
		emptyLots:  opt["includeemptylots"] == "on" && opt["includeundeliverable"] != "off",
	}
}

func (in include) address(a *gazetteer.Address) bool {
	return (in.apartments || a.BaseMAK == "") && (in.emptyLots || !a.EmptyLot)
}
