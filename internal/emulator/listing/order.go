package listing

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"syncd/internal/emulator/wire"
)

// sort orders rows by OrderBy. Rows with equal values keep their order.
func (g *group) sort(r *request, rows []row) {
	order := r.order()
	slices.SortStableFunc(rows, func(a, b row) int {
		for _, o := range order {
			n := compareValues(g.value(o.Column, a), g.value(o.Column, b))
			if strings.EqualFold(o.SortOrder, "DESC") {
				n = -n
			}
			if n != 0 {
				return n
			}
		}
		return 0
	})
}

type columnOrder struct{ Column, SortOrder string }

func (r *request) order() []columnOrder {
	var order []columnOrder
	r.decode("OrderBy", &order)
	for i, o := range order {
		if o.Column == "" {
			r.fault(fmt.Sprintf("$.OrderBy[%d].column", i), "The column field is required.")
		}
		if s := strings.ToUpper(o.SortOrder); s != "" && s != "ASC" && s != "DESC" {
			r.fault(fmt.Sprintf("$.OrderBy[%d].sortorder", i), "The value '%s' is not valid.", o.SortOrder)
		}
	}
	return order
}

// compareValues orders null before numbers, and texts among themselves.
func compareValues(a, b any) int {
	x, xText := a.(string)
	y, yText := b.(string)
	if xText && yText {
		return strings.Compare(x, y)
	}
	return int(number(a) - number(b))
}

// number returns the value of a column as a number: flags are 0 and 1, null is
// -1.
func number(v any) int64 {
	switch v := v.(type) {
	case int:
		return int64(v)
	case json.Number:
		n, _ := v.Int64() // keys are digits
		return n
	case bool:
		if v {
			return 1
		}
		return 0
	}
	return -1
}

// render returns the columns asked for, in the order and spelling of the caller.
func (g *group) render(columns []string, rows []row) wire.List {
	var rendered wire.List
	for _, row := range rows {
		out := make(wire.Fields, len(columns))
		for i, name := range columns {
			out[i] = wire.Field{Key: name, Value: g.value(name, row)}
		}
		rendered.Rows = append(rendered.Rows, out)
	}
	return rendered
}
