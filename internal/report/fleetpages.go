package report

import (
	"encoding/json"
	"io"

	"syncd/internal/report/request"
)

// FleetPages returns the page after a follower, the first one for nil.
type FleetPages func(after *request.Follower) (FleetPage, error)

// Each calls f with each page, the first one included.
func (p FleetPages) Each(f func(FleetPage) error) error {
	var after *request.Follower
	for {
		page, err := p(after)
		if err == nil {
			err = f(page)
		}
		if err != nil || page.Next == nil {
			return err
		}
		after = page.Next
	}
}

// WriteJSON writes a FleetStatus page by page.
func (p FleetPages) WriteJSON(w io.Writer) error {
	between := "\n    "
	var head FleetStatus
	err := p.Each(func(page FleetPage) error {
		var text []byte
		if page.Rings != nil && head.Rings == nil {
			head = page.FleetStatus
			text = append(text, "{\n  \"rings\": "...)
			text = appendIndented(text, "  ", head.Rings)
			text = append(text, ",\n  \"followers\": ["...)
		}
		for _, f := range page.Followers {
			text = appendIndented(append(text, between...), "    ", f)
			between = ",\n    "
		}
		_, err := w.Write(text)
		return err
	})
	if err != nil {
		return err
	}
	text := []byte("],\n  \"stopped\": ")
	if between[0] == ',' {
		text = append([]byte("\n  "), text...)
	}
	text = appendIndented(text, "  ", head.Stopped)
	text = appendIndented(append(text, ",\n  \"waiting\": "...), "  ", head.Waiting)
	text = appendIndented(append(text, ",\n  \"counts\": "...), "  ", head.Counts)
	text = appendIndented(append(text, ",\n  \"destroyed\": "...), "  ", head.Destroyed)
	if head.Signed != nil {
		text = appendIndented(append(text, ",\n  \"signed\": "...), "  ", head.Signed)
	}
	_, err = w.Write(append(text, "\n}\n"...))
	return err
}

func appendIndented(text []byte, prefix string, value any) []byte {
	more, err := json.MarshalIndent(value, prefix, "  ")
	if err != nil {
		panic(err) // these types hold nothing that JSON has no form for
	}
	return append(text, more...)
}
