package alert

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"syncd/internal/metrics"
)

// ErrUnjudged is the cause of the error for an expression that one look cannot judge.
var ErrUnjudged = errors.New("needs Prometheus")

// Series is one element of a result.
type Series struct {
	Labels map[string]string
	Value  float64
}

// Evaluate returns the series of an expression.
func Evaluate(expr string, samples []metrics.Sample, now time.Time) ([]Series, error) {
	p := &parser{samples: samples, now: now}
	if err := p.split(expr); err != nil {
		return nil, err
	}
	result, err := p.binary(0)
	if err == nil && len(p.tokens) > 0 {
		err = p.unknown()
	}
	return result.vector, err
}

// value is a vector, or a scalar, which is a vector of one series without labels.
type value struct {
	isScalar bool
	vector   []Series
}

func scalar(v float64) value { return value{true, []Series{{Value: v}}} }

// parser evaluates an expression while it reads it.
type parser struct {
	tokens  []string
	samples []metrics.Sample
	now     time.Time
}

var token = regexp.MustCompile(`^(?:[a-zA-Z_:][a-zA-Z0-9_:]*|[0-9.]+|"(?:[^"\\]|\\.)*"|==|!=|<=|>=|=~|!~|[-+*/(){}<>=,\[\]])`)

func (p *parser) split(text string) error {
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		t := token.FindString(text)
		if t == "" {
			return fmt.Errorf("%w: %.20q is unknown", ErrUnjudged, text)
		}
		p.tokens, text = append(p.tokens, t), text[len(t):]
	}
	return nil
}

// next returns the next token without taking it, "" at the end.
func (p *parser) next() string {
	if len(p.tokens) == 0 {
		return ""
	}
	return p.tokens[0]
}

// take takes the next token if it is one of those.
func (p *parser) take(texts ...string) (t string, ok bool) {
	if t = p.next(); t == "" || !slices.Contains(texts, t) {
		return "", false
	}
	p.tokens = p.tokens[1:]
	return t, true
}

func (p *parser) need(t string) error {
	if _, ok := p.take(t); !ok {
		return p.unknown()
	}
	return nil
}

func (p *parser) unknown() error { return fmt.Errorf("%w: %q is unknown", ErrUnjudged, p.next()) }

// levels are the binary operators, the loosest first.
var levels = [][]string{{"or"}, {"and", "unless"}, {"==", "!=", "<", "<=", ">", ">="}, {"+", "-"}, {"*", "/"}}

func (p *parser) binary(level int) (value, error) {
	if level == len(levels) {
		return p.primary()
	}
	left, err := p.binary(level + 1)
	for err == nil {
		op, ok := p.take(levels[level]...)
		if !ok {
			break
		}
		on, isOn, onErr := p.matching()
		right, rightErr := p.binary(level + 1)
		if err = errors.Join(onErr, rightErr); err == nil {
			left, err = operation{op, on, isOn}.apply(left, right)
		}
	}
	return left, err
}

// matching reads `on (labels)` and `group_left (labels)`.
func (p *parser) matching() (on []string, isOn bool, err error) {
	if _, isOn = p.take("on"); isOn {
		on, err = p.names()
	}
	if _, grouped := p.take("group_left"); grouped && err == nil && p.next() == "(" {
		_, err = p.names()
	}
	return on, isOn, err
}

// names reads a list of names in parentheses.
func (p *parser) names() (names []string, err error) {
	if err = p.need("("); err != nil {
		return nil, err
	}
	for p.next() != "" {
		if _, done := p.take(")"); done {
			return names, nil
		}
		if _, comma := p.take(","); comma {
			continue
		}
		names, p.tokens = append(names, p.next()), p.tokens[1:]
	}
	return nil, p.unknown()
}

func (p *parser) primary() (value, error) {
	if _, ok := p.take("("); ok {
		v, err := p.binary(0)
		return v, errors.Join(err, p.need(")"))
	}
	if number, err := strconv.ParseFloat(p.next(), 64); err == nil {
		p.tokens = p.tokens[1:]
		return scalar(number), nil
	}
	if _, ok := p.take("time"); ok {
		return scalar(float64(p.now.UnixNano()) / 1e9), errors.Join(p.need("("), p.need(")"))
	}
	if _, ok := p.take("sum"); ok {
		return p.sum()
	}
	return p.selector()
}

// sum reads `by (labels) (expression)` or `(expression)`.
func (p *parser) sum() (value, error) {
	var by []string
	var err error
	if _, ok := p.take("by"); ok {
		by, err = p.names()
	}
	inner, innerErr := value{}, p.need("(")
	if innerErr == nil {
		inner, innerErr = p.binary(0)
	}
	return value{vector: sumBy(inner.vector, by)}, errors.Join(err, innerErr, p.need(")"))
}

func sumBy(vector []Series, by []string) (sums []Series) {
	at := map[string]int{}
	for _, s := range vector {
		group := s.signature(by, true)
		i, seen := at[group]
		if !seen {
			i, at[group] = len(sums), len(sums)
			sums = append(sums, Series{Labels: s.only(by)})
		}
		sums[i].Value += s.Value
	}
	return sums
}

var name = regexp.MustCompile(`^[a-zA-Z_:][a-zA-Z0-9_:]*$`)

// selector reads a metric's name with matchers.
func (p *parser) selector() (value, error) {
	metric := p.next()
	if !name.MatchString(metric) {
		return value{}, p.unknown()
	}
	p.tokens = p.tokens[1:]
	if p.next() == "(" { // a function of another kind
		return value{}, fmt.Errorf("%w: %s()", ErrUnjudged, metric)
	}
	matches, err := p.matchers()
	if err != nil || p.next() == "[" {
		return value{}, errors.Join(err, p.unknown())
	}
	var found value
	for _, s := range p.samples {
		if s.Name == metric && matches(s.Labels) {
			found.vector = append(found.vector, Series{s.Labels, s.Value})
		}
	}
	return found, nil
}

// matchers reads {name="value", …}.
func (p *parser) matchers() (func(map[string]string) bool, error) {
	var all []func(map[string]string) bool
	matches := func(labels map[string]string) bool {
		return !slices.ContainsFunc(all, func(one func(map[string]string) bool) bool { return !one(labels) })
	}
	if _, ok := p.take("{"); !ok {
		return matches, nil
	}
	for len(p.tokens) > 3 && p.next() != "}" {
		one, err := matcher(p.tokens[0], p.tokens[1], p.tokens[2])
		if err != nil {
			return nil, err
		}
		all, p.tokens = append(all, one), p.tokens[3:]
		p.take(",")
	}
	return matches, p.need("}")
}

func matcher(label, op, quoted string) (func(map[string]string) bool, error) {
	text, err := strconv.Unquote(quoted)
	if err != nil {
		return nil, fmt.Errorf("%w: %s is no text", ErrUnjudged, quoted)
	}
	pattern := regexp.QuoteMeta(text)
	if strings.HasSuffix(op, "~") {
		pattern = text
	}
	re, err := regexp.Compile("^(?:" + pattern + ")$")
	if err != nil {
		return nil, fmt.Errorf("%w: %s is no pattern", ErrUnjudged, quoted)
	}
	return func(labels map[string]string) bool {
		return re.MatchString(labels[label]) != strings.HasPrefix(op, "!")
	}, nil
}
