package alert

import (
	"fmt"
	"slices"
	"sort"
	"strings"
)

// operation is a binary operator with its labels for matching; all labels without `on`.
type operation struct {
	op   string
	on   []string
	isOn bool
}

func (o operation) apply(left, right value) (value, error) {
	switch {
	case slices.Contains([]string{"and", "or", "unless"}, o.op):
		return o.set(left, right), nil
	case left.isScalar && right.isScalar:
		return o.scalars(left.vector[0].Value, right.vector[0].Value)
	}
	var result value
	for _, s := range o.pairs(left, right) {
		if v, keep := o.compute(s.left, s.right, s.series.Value); keep {
			result.vector = append(result.vector, Series{s.series.Labels, v})
		}
	}
	return result, nil
}

// scalars computes a number. PromQL compares two scalars only with `bool`.
func (o operation) scalars(left, right float64) (value, error) {
	if o.isComparison() {
		return value{}, fmt.Errorf("%w: a comparison of two numbers", ErrUnjudged)
	}
	v, _ := o.compute(left, right, left)
	return scalar(v), nil
}

func (o operation) isComparison() bool { return slices.Contains(levels[2], o.op) }

// pair are two values to compute with, and the series that the result belongs to.
type pair struct {
	left, right float64
	series      Series
}

func (o operation) pairs(left, right value) (pairs []pair) {
	switch {
	case right.isScalar:
		for _, s := range left.vector {
			pairs = append(pairs, pair{s.Value, right.vector[0].Value, s})
		}
	case left.isScalar:
		for _, s := range right.vector {
			pairs = append(pairs, pair{left.vector[0].Value, s.Value, s})
		}
	default:
		other := o.bySignature(right)
		for _, s := range left.vector {
			if r, ok := other[s.signature(o.on, o.isOn)]; ok {
				pairs = append(pairs, pair{s.Value, r.Value, s})
			}
		}
	}
	return pairs
}

// compute returns the result of arithmetic, or own when a comparison holds.
func (o operation) compute(left, right, own float64) (v float64, keep bool) {
	switch o.op {
	case "+":
		return left + right, true
	case "-":
		return left - right, true
	case "*":
		return left * right, true
	case "/":
		return left / right, true
	case "==":
		return own, left == right
	case "!=":
		return own, left != right
	case "<":
		return own, left < right
	case "<=":
		return own, left <= right
	case ">":
		return own, left > right
	}
	return own, left >= right
}

// set keeps the series of left that have a partner in right (and), have none (unless), or
// adds those of right that have none (or).
func (o operation) set(left, right value) (result value) {
	others, own := o.bySignature(right), o.bySignature(left)
	for _, s := range left.vector {
		if _, paired := others[s.signature(o.on, o.isOn)]; o.op == "or" || paired == (o.op == "and") {
			result.vector = append(result.vector, s)
		}
	}
	for _, s := range right.vector {
		if _, paired := own[s.signature(o.on, o.isOn)]; o.op == "or" && !paired {
			result.vector = append(result.vector, s)
		}
	}
	return result
}

func (o operation) bySignature(v value) map[string]Series {
	found := map[string]Series{}
	for _, s := range v.vector {
		found[s.signature(o.on, o.isOn)] = s
	}
	return found
}

// signature identifies the labels that are compared: the named ones, or all.
func (s Series) signature(names []string, isOn bool) string {
	labels := s.Labels
	if isOn {
		labels = s.only(names)
	}
	var parts []string
	for name, value := range labels {
		parts = append(parts, name+"\x00"+value)
	}
	sort.Strings(parts)
	return strings.Join(parts, "\x00")
}

func (s Series) only(names []string) map[string]string {
	labels := map[string]string{}
	for _, name := range names {
		if value, ok := s.Labels[name]; ok {
			labels[name] = value
		}
	}
	return labels
}
